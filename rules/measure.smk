# One measurement at a time per device: `gpu` counts devices, and each job locks the one it uses.
rule benchmark:
    output:
        "results/{tag}/benchmark/{case}.json",
    log:
        "results/{tag}/logs/benchmark/{case}.json.log",
    threads: dag.measuring_threads
    resources:
        gpu=1,
        mem_mb=dag.measured.memory_mb,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        row=lambda wildcards: json.dumps(dag.plan.benchmark_row(wildcards.case)),
        code=dag.code("measure.benchmark"),
    message:
        "Benchmark {wildcards.case}"
    shell:
        "python -m workflow_src.measure.benchmark --case {params.row:q} --output {output:q}"
        " 2>&1 | tee -i {log:q}"


# Matrix products, memory and exponentials at their fastest, by which all rates are judged.
rule ceilings:
    output:
        "results/{tag}/ceilings.json",
    log:
        "results/{tag}/logs/ceilings.json.log",
    threads: dag.measuring_threads
    resources:
        gpu=1,
        mem_mb=dag.measured.memory_mb,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        point=json.dumps(dag.plan.ceilings_point()),
        code=dag.code("measure.ceilings"),
    message:
        "Measure the ceilings of this machine"
    shell:
        "python -m workflow_src.measure.ceilings --point {params.point:q} --output {output:q}"
        " 2>&1 | tee -i {log:q}"


rule capture:
    output:
        f"results/{{tag}}/capture/{{case}}{dag.plan.capture_suffix}",
    log:
        "results/{tag}/logs/capture/{case}.log",
    threads: dag.measuring_threads
    resources:
        gpu=1,
        mem_mb=dag.measured.memory_mb,
        runtime=lambda wildcards, attempt: attempt * 30,
    params:
        row=lambda wildcards: json.dumps(dag.plan.capture_row(wildcards.case)),
        code=dag.code("measure.capture"),
    message:
        "Capture {wildcards.case}"
    shell:
        "python -m workflow_src.measure.capture --case {params.row:q} --output {output:q}"
        " 2>&1 | tee -i {log:q}"
