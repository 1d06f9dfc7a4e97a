# One rule for all questions; each reads only the tables that QUESTIONS lists for it.
localrules:
    answer,


rule answer:
    input:
        unpack(dag.answer_inputs),
    output:
        json="results/{tag}/answers/{question}.json",
        markdown="results/{tag}/answers/{question}.md",
        appendix="results/{tag}/answers/{question}.appendix.md",
    log:
        "results/{tag}/logs/answers/{question}.log",
    params:
        module=dag.answer_module,
        code=dag.answer_code,
    message:
        "Answer ({wildcards.question})"
    shell:
        "python -m {params.module} --tables results/{wildcards.tag}/tables"
        " --templates report_templates --json {output.json:q} --markdown {output.markdown:q}"
        " --appendix {output.appendix:q}"
        " > {log:q} 2>&1"
