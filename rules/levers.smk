# What the study levers expects of each remedy, from the plain point of a case alone.
localrules:
    levers_prediction,


rule levers_prediction:
    input:
        plain="results/{tag}/studies/levers/{case}.plain.json",
        families="workflow_src/placing/families.csv",
    output:
        "results/{tag}/predictions/levers/{case}.csv",
    log:
        "results/{tag}/logs/predictions/levers/{case}.csv.log",
    params:
        code=dag.code("studies.levers.predict"),
    message:
        "Study levers: predict the remedies of {wildcards.case}"
    shell:
        "python -m workflow_src.studies.levers.predict --plain {input.plain:q}"
        " --families {input.families:q} --output {output:q} > {log:q} 2>&1"
