# Two runs compared, each a folder with tables/: results/compare/results/x/with/examples/h200/. Or two
# captures of other programs, each a folder below results/captures. They are no inputs: they are
# compared as they are, and comparing never measures. CSVs of all that is compared lie beside.
from workflow_src.dag.paths import PAGE, compared, compared_runs, compared_templates


localrules:
    compare,


rule compare:
    input:
        compared_templates,
        PAGE,
    output:
        multiext(
            "results/compare/{run_a}/with/{run_b}/",
            "compare.md",
            "compare.html",
            "compare.json",
        ),
    log:
        "results/compare/{run_a}/with/{run_b}/compare.log",
    wildcard_constraints:
        run_a=r"(?!\.\.)[^/]+(?:/(?!\.\.|with/)[^/]+)*",
        run_b=r"(?!\.\.)[^/]+(?:/(?!\.\.|with/)[^/]+)*",
    params:
        module=compared,
        folder=output_folder,
        runs=compared_runs,
        code=dag.code(compared),
    message:
        "Compare {wildcards.run_b} with {wildcards.run_a}"
    shell:
        "python -m {params.module} --a {wildcards.run_a:q} --b {wildcards.run_b:q}"
        " --templates report_templates --output {params.folder:q} > {log:q} 2>&1"
