localrules:
    plan,


rule plan:
    output:
        "results/{tag}/plan.csv",
    log:
        "results/{tag}/logs/plan.csv.log",
    params:
        settings=json.dumps(dict(dag.plan.settings)),
        code=dag.code("plan.write_plan"),
    message:
        "Plan the cases of {wildcards.tag}"
    shell:
        "python -m workflow_src.plan.write_plan --settings {params.settings:q} --output {output:q}"
        " > {log:q} 2>&1"
