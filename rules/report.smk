from workflow_src.plan.config import options


localrules:
    figure,
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
        " --output {output:q} > {log:q} 2>&1"


rule report:
    input:
        **dag.report.inputs(),
    output:
        markdown=report(
            "report.md",
            caption="../report_templates/captions/report.rst",
            category="Report",
            labels={"file": "report.md"},
        ),
        appendix=f"{dag.results}/appendix.md",
        html=report(
            "report.html",
            caption="../report_templates/captions/report.rst",
            category="Report",
            labels={"file": "report.html"},
        ),
    log:
        f"{dag.results}/logs/report.log",
    params:
        tables=input_folder,
        suite=dag.plan.settings["suite"],
        tag=dag.plan.tag,
        changed=options(config),
        code=dag.code("report.report"),
    message:
        "Write report.md and report.html"
    shell:
        "python -m workflow_src.report.report --tables {params.tables:q}"
        " --answers {params.tables:q}/../answers --figures {params.tables:q}/../figures"
        " --templates report_templates --sections {input.sections:q} --plan {input.plan:q}"
        " --suite {params.suite:q} --tag {params.tag:q} --changed-settings {params.changed:q}"
        " --markdown {output.markdown:q} --html {output.html:q}"
        " --appendix {output.appendix:q} --timelines {input.timelines:q} > {log:q} 2>&1"
