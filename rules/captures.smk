# Captures that others recorded, in place of a suite: --config 'captures=[theirs.nsys-rep]'. The
# files are read where they are, and never written to. One that can't be read doesn't stop the others:
# its tables say why.
from workflow_src.common.table_schema import tables_in


localrules:
    captures_report,


rule read_capture:
    input:
        capture=dag.captures.inputs,
        words="workflow_src/diagnosis/mechanisms.csv",
    output:
        expand("results/captures/{{capture}}/{table}.csv", table=tables_in("capture")),
        "results/captures/{capture}/step.svg",
    log:
        "results/captures/{capture}/read.log",
    params:
        capture=dag.captures.arguments,
        folder=output_folder,
        options=dag.captures.options,
        code=dag.code("cli.read_capture"),
    message:
        "Place the device time of {params.capture} in its ranges"
    shell:
        "python -m workflow_src.cli.read_capture --capture {params.capture:q} {params.options}"
        " --note-problem --output {params.folder:q} > {log:q} 2>&1"


# The same two files as those of a suite's report.
rule captures_report:
    input:
        tables=expand(
            "results/captures/{capture}/{table}.csv",
            capture=dag.captures.files,
            table=tables_in("capture"),
        ),
        steps=expand("results/captures/{capture}/step.svg", capture=dag.captures.files),
        templates=dag.captures.templates(),
    output:
        markdown="report.md",
        html="report.html",
        summaries=expand(
            "results/captures/{capture}/summary.json", capture=dag.captures.files
        ),
    log:
        "results/captures/report.log",
    params:
        folders=expand("results/captures/{capture}", capture=dag.captures.files),
        code=dag.code("capture_report.report"),
    message:
        "Write report.md and report.html of the captures"
    shell:
        "python -m workflow_src.capture_report.report --tables {params.folders:q}"
        " --templates report_templates --log {log:q}"
        " --markdown {output.markdown:q} --html {output.html:q} > {log:q} 2>&1"
