# The companion studies share these rules; the wildcard `study` selects one.


localrules:
    study_table,
    study_section,


rule study_point:
    output:
        "results/{tag}/studies/{study}/{point}.json",
    log:
        "results/{tag}/logs/studies/{study}/{point}.log",
    threads: dag.measuring_threads
    resources:
        gpu=lambda wildcards: json.loads(dag.studies.point(wildcards)).get("gpus", 1),
        mem_mb=lambda wildcards, attempt: attempt * 16384,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        point=dag.studies.point,
        code=dag.code("studies.{wildcards.study}.measure"),
    message:
        "Study {wildcards.study}: measure {wildcards.point}"
    shell:
        "python -m workflow_src.studies.{wildcards.study}.measure"
        " --point {params.point:q} --output {output:q} 2>&1 | tee -i {log:q}"


rule study_table:
    input:
        points=lambda wildcards: dag.studies.measured(wildcards.study),
        environment="results/{tag}/environments/{study}.csv",
    output:
        "results/{tag}/tables/studies/{study}.csv",
    log:
        "results/{tag}/logs/studies/{study}.csv.log",
    params:
        code=dag.code("studies.join_points"),
        study=dag.code("studies.{wildcards.study}.chapter"),
    message:
        "Study {wildcards.study}: tabulate its points"
    shell:
        "python -m workflow_src.studies.join_points --study {wildcards.study}"
        " --points {input.points:q} --output {output:q} > {log:q} 2>&1"


rule study_section:
    input:
        table="results/{tag}/tables/studies/{study}.csv",
        beside=dag.studies.section_beside,
        templates=dag.studies.section_templates,
    output:
        multiext("results/{tag}/sections/{study}", *CHAPTER),
        figure="results/{tag}/figures/study_{study}.svg",
    log:
        "results/{tag}/logs/sections/{study}.log",
    params:
        folder=output_folder,
        code=dag.code("studies.facts"),
        study=dag.code("studies.{wildcards.study}.chapter"),
    message:
        "Study {wildcards.study}: write its section, its long tables and its figure"
    shell:
        "python -m workflow_src.studies.facts --study {wildcards.study} --tables {input.table:q}"
        " {input.beside:q} --templates report_templates"
        " --figure {output.figure:q} --output {params.folder:q} --log {log:q} > {log:q} 2>&1"
