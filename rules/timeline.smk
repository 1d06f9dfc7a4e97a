# Steps as pictures. The report shows those of dag.measured.timelines(); any
# other is made by naming its file.
localrules:
    timeline,


rule timeline:
    input:
        export="results/{tag}/export/{case}",
        families="workflow_src/placing/families.csv",
    output:
        "results/{tag}/timelines/{case}.svg",
    log:
        "results/{tag}/logs/timelines/{case}.log",
    params:
        code=dag.code("timeline.picture"),
    message:
        "Draw the steps of {wildcards.case}"
    shell:
        "python -m workflow_src.timeline.picture --export {input.export:q} --output {output:q}"
        " > {log:q} 2>&1"
