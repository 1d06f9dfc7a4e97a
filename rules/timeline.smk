# Steps as pictures and for trace viewers. The report shows those of dag.measured.timelines(); any
# other is made by naming its file.
localrules:
    timeline,


rule timeline:
    input:
        export="results/{tag}/export/{case}",
        families="workflow_src/placing/families.csv",
    output:
        svg="results/{tag}/timelines/{case}.svg",
        trace="results/{tag}/timelines/{case}.trace.json.gz",
    log:
        "results/{tag}/logs/timelines/{case}.log",
    params:
        code=dag.code("timeline.make"),
    message:
        "Draw the steps of {wildcards.case}"
    shell:
        "python -m workflow_src.timeline.make --export {input.export:q} --svg {output.svg:q}"
        " --trace {output.trace:q} > {log:q} 2>&1"
