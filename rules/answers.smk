# One rule per question; each reads only the tables that it needs (see questions.py).
localrules:
    answer_a,
    answer_b,
    answer_c,
    answer_d,
    answer_e,


rule answer_a:
    input:
        **dag.answer_inputs("a"),
    output:
        json="results/{tag}/answers/a.json",
        markdown="results/{tag}/answers/a.md",
    log:
        "results/{tag}/logs/answers/a.log",
    params:
        question="a",
        code=dag.answer_code("a"),
    message:
        "Answer (a): the forward pass, profiled and not"
    shell:
        "python -m workflow_src.answers --question {params.question} --tables results/{wildcards.tag}/tables"
        " --templates report_templates --json {output.json:q} --markdown {output.markdown:q}"
        " > {log:q} 2>&1"


use rule answer_a as answer_b with:
    input:
        **dag.answer_inputs("b"),
    output:
        json="results/{tag}/answers/b.json",
        markdown="results/{tag}/answers/b.md",
    log:
        "results/{tag}/logs/answers/b.log",
    params:
        question="b",
        code=dag.answer_code("b"),
    message:
        "Answer (b): the kernel with the most time"


use rule answer_a as answer_c with:
    input:
        **dag.answer_inputs("c"),
    output:
        json="results/{tag}/answers/c.json",
        markdown="results/{tag}/answers/c.md",
    log:
        "results/{tag}/logs/answers/c.log",
    params:
        question="c",
        code=dag.answer_code("c"),
    message:
        "Answer (c): what else matters in the forward pass"


use rule answer_a as answer_d with:
    input:
        **dag.answer_inputs("d"),
    output:
        json="results/{tag}/answers/d.json",
        markdown="results/{tag}/answers/d.md",
    log:
        "results/{tag}/logs/answers/d.log",
    params:
        question="d",
        code=dag.answer_code("d"),
    message:
        "Answer (d): the share of matrix multiplication, from inference to training"


use rule answer_a as answer_e with:
    input:
        **dag.answer_inputs("e"),
    output:
        json="results/{tag}/answers/e.json",
        markdown="results/{tag}/answers/e.md",
    log:
        "results/{tag}/logs/answers/e.log",
    params:
        question="e",
        code=dag.answer_code("e"),
    message:
        "Answer (e): softmax against matrix multiplication in attention"
