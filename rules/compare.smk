# Two runs compared, each a folder with tables/: results/compare/results/x/with/examples/h200/. Or two
# captures of other programs, each a folder below results/captures. They are no inputs: they are
# compared as they are, and comparing never measures.
from workflow_src.dag.paths import PAGE, chapter_templates, compared_runs


localrules:
    compare,
    compare_captures,


rule compare:
    input:
        chapter_templates("compare"),
        PAGE,
    output:
        multiext(
            "results/compare/{run_a}/with/{run_b}/",
            "compare.md",
            "compare.html",
            "compare.json",
            "times.csv",
            "kernels.csv",
            "ledger.csv",
        ),
    log:
        "results/compare/{run_a}/with/{run_b}/compare.log",
    wildcard_constraints:
        run_a=r"(?!\.\.|results/captures/)[^/]+(?:/(?!\.\.|with/)[^/]+)*",
        run_b=r"(?!\.\.)[^/]+(?:/(?!\.\.|with/)[^/]+)*",
    params:
        folder=output_folder,
        runs=compared_runs,
        code=dag.code("compare.compare"),
    message:
        "Compare {wildcards.run_b} with {wildcards.run_a}"
    shell:
        "python -m workflow_src.compare.compare --a {wildcards.run_a:q} --b {wildcards.run_b:q}"
        " --templates report_templates --output {params.folder:q} > {log:q} 2>&1"


rule compare_captures:
    input:
        chapter_templates("compare_captures"),
        PAGE,
    output:
        multiext(
            "results/compare/{run_a}/with/{run_b}/",
            "compare.md",
            "compare.html",
            "compare.json",
            "paths.csv",
            "kernels.csv",
            "findings.csv",
            "host.csv",
        ),
    log:
        "results/compare/{run_a}/with/{run_b}/compare.log",
    wildcard_constraints:
        run_a="results/captures/[^/]+",
        run_b="results/captures/[^/]+",
    params:
        folder=output_folder,
        runs=compared_runs,
        code=dag.code("compare.compare_captures"),
    message:
        "Compare the capture {wildcards.run_b} with {wildcards.run_a}"
    shell:
        "python -m workflow_src.compare.compare_captures --a {wildcards.run_a:q}"
        " --b {wildcards.run_b:q} --templates report_templates --output {params.folder:q} > {log:q} 2>&1"
