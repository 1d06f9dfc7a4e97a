# On a cluster, export and case_tables of a case run as one job; the rest runs where snakemake runs.
from workflow_src.common.case import TABLES
from workflow_src.dag.paths import made


localrules:
    ceilings_table,
    environment,
    findings,
    join,
    remedies,


rule export:
    input:
        f"results/{{tag}}/capture/{{case}}{dag.plan.capture_suffix}",
    output:
        directory("results/{tag}/export/{case}"),
    log:
        "results/{tag}/logs/export/{case}.log",
    group:
        "tables"
    params:
        code=dag.code("captures.export_case"),
    message:
        "Export the capture of {wildcards.case}"
    shell:
        "python -m workflow_src.captures.export_case --capture {input:q} --output {output:q}"
        " > {log:q} 2>&1"


rule case_tables:
    input:
        export="results/{tag}/export/{case}",
        benchmark="results/{tag}/benchmark/{case}.json",
        families="workflow_src/placing/families.csv",
    output:
        expand("results/{{tag}}/tables/{{case}}/{table}.csv", table=TABLES),
    log:
        "results/{tag}/logs/tables/{case}.log",
    group:
        "tables"
    params:
        folder=output_folder,
        code=dag.code("tables.case_tables"),
    message:
        "Tabulate {wildcards.case}"
    shell:
        "python -m workflow_src.tables.case_tables --export {input.export:q}"
        " --benchmark {input.benchmark:q} --output {params.folder:q}"
        " > {log:q} 2>&1"


# By the code that finds what is wrong in captures of others.
rule case_findings:
    input:
        export="results/{tag}/export/{case}",
        timings="results/{tag}/tables/{case}/timings.csv",
        words="workflow_src/diagnosis/mechanisms.csv",
    output:
        "results/{tag}/tables/{case}/findings.csv",
    log:
        "results/{tag}/logs/findings/{case}.log",
    group:
        "tables"
    params:
        code=dag.code("tables.findings"),
    message:
        "Find what is wrong in the steps of {wildcards.case}"
    shell:
        "python -m workflow_src.tables.findings --export {input.export:q}"
        " --timings {input.timings:q} --output {output:q} > {log:q} 2>&1"


rule ceilings_table:
    input:
        "results/{tag}/ceilings.json",
    output:
        "results/{tag}/tables/ceilings.csv",
    log:
        "results/{tag}/logs/tables/ceilings.csv.log",
    params:
        code=dag.code("tables.ceilings"),
    message:
        "Tabulate the ceilings"
    shell:
        "python -m workflow_src.tables.ceilings --measured {input:q} --output {output:q}"
        " > {log:q} 2>&1"


# {part}: "cases", or the name of a study.
rule environment:
    input:
        dag.measured.environments,
    output:
        "results/{tag}/environments/{part}.csv",
    log:
        "results/{tag}/logs/environments/{part}.csv.log",
    params:
        flag="--mixed-environments" if dag.plan.settings["mixed_environments"] else "",
        code=dag.code("tables.environment"),
    message:
        "Check that {wildcards.part} of {wildcards.tag} were measured in one environment"
    shell:
        "python -m workflow_src.tables.environment --measured {input:q} --output {output:q}"
        " {params.flag} > {log:q} 2>&1"


rule join:
    input:
        plan="results/{tag}/plan.csv",
        environment="results/{tag}/environments/cases.csv",
        tables=expand(
            "results/{{tag}}/tables/{case}/{table}.csv",
            case=dag.measured.to_join(),
            table=TABLES,
        ),
    output:
        expand("results/{{tag}}/tables/{table}.csv", table=TABLES),
    log:
        "results/{tag}/logs/tables.log",
    params:
        folder=output_folder,
        names=TABLES,
        code=dag.code("tables.join"),
    message:
        "Join the tables of all cases of {wildcards.tag}"
    shell:
        "python -m workflow_src.tables.join --plan {input.plan:q} --cases {params.folder:q}"
        " --names {params.names} --output {params.folder:q} > {log:q} 2>&1"


rule findings:
    input:
        plan="results/{tag}/plan.csv",
        tables=expand(
            "results/{{tag}}/tables/{case}/findings.csv", case=dag.measured.to_join()
        ),
    output:
        "results/{tag}/tables/findings.csv",
    log:
        "results/{tag}/logs/findings.log",
    params:
        folder=output_folder,
        code=dag.code("tables.join"),
    message:
        "Join the findings of all cases of {wildcards.tag}"
    shell:
        "python -m workflow_src.tables.join --plan {input.plan:q} --cases {params.folder:q}"
        " --names findings --output {params.folder:q} > {log:q} 2>&1"


# What each step would take with remedies, by replay, from the joined tables alone.
rule remedies:
    input:
        tables=expand(
            "results/{{tag}}/tables/{table}.csv",
            table=("timings", "operators"),
        ),
        ceilings=made(dag.plan, "ceilings"),
    output:
        "results/{tag}/tables/remedies.csv",
    log:
        "results/{tag}/logs/tables/remedies.csv.log",
    params:
        tables=output_folder,
        code=dag.code("tables.remedies"),
    message:
        "Predict the remedies of {wildcards.tag}"
    shell:
        "python -m workflow_src.tables.remedies --tables {params.tables:q}"
        " --ceilings {input.ceilings:q} --output {output:q} > {log:q} 2>&1"
