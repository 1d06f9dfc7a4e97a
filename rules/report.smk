rule figure:
    message:
        "Draw {wildcards.figure}"
    input:
        dag.figure_inputs,
    params:
        tables="results/{tag}/tables",
        code=fingerprint("workflow_src.figures"),
    output:
        report(
            "results/{tag}/figures/{figure}.svg",
            caption="../report_templates/captions/{figure}.rst",
            category="Figures",
        ),
    log:
        "results/{tag}/logs/figures/{figure}.log",
    shell:
        "python -m workflow_src.figures --tables {params.tables:q} --figure {wildcards.figure}"
        " --output {output:q} > {log:q} 2>&1"


rule report:
    message:
        "Write report.md and report.html"
    input:
        **dag.report_inputs(),
    params:
        folder=dag.results,
        code=fingerprint("workflow_src.report"),
    output:
        markdown=report("report.md", caption="../report_templates/captions/report.rst"),
        html=report("report.html", caption="../report_templates/captions/report.rst"),
    log:
        f"{dag.results}/logs/report.log",
    shell:
        "python -m workflow_src.report --tables {params.folder:q}/tables"
        " --answers {params.folder:q}/answers --figures {params.folder:q}/figures"
        " --templates report_templates --markdown {output.markdown:q} --html {output.html:q}"
        " > {log:q} 2>&1"
