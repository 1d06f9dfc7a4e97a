localrules:
    opening,
    front,
    appendix,
    report,


rule opening:
    input:
        **dag.report.opening_inputs(),
    output:
        multiext("results/{tag}/answers/opening", *CHAPTER),
        figure="results/{tag}/figures/opening.svg",
    log:
        "results/{tag}/logs/answers/opening.log",
    params:
        tables=input_folder,
        folder=output_folder,
        code=dag.code("report.opening"),
    message:
        "Write the opening"
    shell:
        "python -m workflow_src.report.opening --tables {params.tables:q} {input.plan:q}"
        " {input.answers:q} --templates report_templates --figure {output.figure:q}"
        " --output {params.folder:q} --log {log:q} > {log:q} 2>&1"


# The chapters beside the answers: all cases, whether to trust them, what was run, and the cards of
# the cases, each with what is wrong with it, what to change first, and all that was measured of it.
rule front:
    input:
        unpack(dag.report.front_inputs),
    output:
        multiext("results/{tag}/answers/{front}", *CHAPTER),
    log:
        "results/{tag}/logs/answers/{front}.log",
    params:
        module=dag.report.front_module,
        tables=input_folder,
        folder=output_folder,
        code=dag.code(dag.report.front_module),
    message:
        "Write {wildcards.front}"
    shell:
        "python -m {params.module} --tables {params.tables:q} {input.plan:q}"
        " {input.studies:q} --templates report_templates"
        " --output {params.folder:q} --log {log:q} > {log:q} 2>&1"


rule appendix:
    input:
        **dag.report.appendix_inputs(),
    output:
        appendix="results/{tag}/appendix.md",
        summary="results/{tag}/summary.json",
    log:
        "results/{tag}/logs/appendix.log",
    params:
        code=dag.code("report.report"),
    message:
        "Write the appendix and the summary of {wildcards.tag}"
    shell:
        "python -m workflow_src.report.report --chapters {input.chapters:q}"
        " --templates report_templates --tag {wildcards.tag:q}"
        " --appendix {output.appendix:q} --summary {output.summary:q} > {log:q} 2>&1"


# All runs share these two files: by the param `tag`, they are made again for another run. So they are
# all that this rule makes: without a record of one of its outputs, Snakemake compares no params.
rule report:
    input:
        **dag.report.inputs(),
    output:
        markdown="report.md",
        html="report.html",
    log:
        f"{dag.plan.results}/logs/report.log",
    params:
        others=dag.report.others(),
        tag=dag.plan.tag,
        code=dag.code("report.report"),
    message:
        "Write report.md and report.html"
    shell:
        "python -m workflow_src.report.report --chapters {input.chapters:q}"
        " --timelines {input.timelines:q} --others {params.others:q}"
        " --templates report_templates --tag {params.tag:q}"
        " --markdown {output.markdown:q} --html {output.html:q}"
        " > {log:q} 2>&1"
