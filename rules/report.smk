localrules:
    figure,
    appendix,
    report,


rule figure:
    input:
        dag.report.figure_inputs,
    output:
        report(
            "results/{tag}/figures/{figure}.svg",
            caption="../report_templates/captions/figure.rst",
            category="Figures",
            subcategory="Answers",
            labels={"figure": "{figure}"},
        ),
    log:
        "results/{tag}/logs/figures/{figure}.log",
    params:
        tables=input_folder,
        code=dag.code("answers.figures"),
    message:
        "Draw {wildcards.figure}"
    shell:
        "python -m workflow_src.answers.figures --tables {params.tables:q} --figure {wildcards.figure}"
        " --output {output:q} --log {log:q} > {log:q} 2>&1"


rule appendix:
    input:
        **dag.report.appendix_inputs(),
        other=dag.report.made_for_another("appendix", ancient),
    output:
        "results/{tag}/appendix.md",
    log:
        "results/{tag}/logs/appendix.log",
    params:
        asked=dag.report.asked("appendix"),
        code=dag.code("report.report"),
    message:
        "Write the appendix of {wildcards.tag}"
    shell:
        "python -m workflow_src.report.report --chapters {input.chapters:q}"
        " --templates report_templates --tag {wildcards.tag:q}"
        " --asked {params.asked} --appendix {output:q} > {log:q} 2>&1"


# All runs share these two files. A note at their end tells what they were made for, by which they
# are made again for another run, whatever Snakemake knows of them; so does that of the appendix.
rule report:
    input:
        **dag.report.inputs(),
        other=dag.report.made_for_another("report", ancient),
    output:
        markdown=report(
            "report.md",
            caption="../report_templates/captions/report.rst",
            category="Report",
            labels={"file": "report.md"},
        ),
        html=report(
            "report.html",
            caption="../report_templates/captions/report.rst",
            category="Report",
            labels={"file": "report.html"},
        ),
    log:
        f"{dag.results}/logs/report.log",
    params:
        others=dag.report.others(),
        tag=dag.plan.tag,
        asked=dag.report.asked("report"),
        code=dag.code("report.report"),
    message:
        "Write report.md and report.html"
    shell:
        "python -m workflow_src.report.report --chapters {input.chapters:q}"
        " --timelines {input.timelines:q} --others {params.others:q}"
        " --templates report_templates --tag {params.tag:q} --asked {params.asked}"
        " --markdown {output.markdown:q} --html {output.html:q} > {log:q} 2>&1"
