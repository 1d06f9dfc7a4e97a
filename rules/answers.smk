# One rule for all questions; each reads only the tables that QUESTIONS lists for it.
localrules:
    answer,
    case_card,


rule answer:
    input:
        unpack(dag.report.answer_inputs),
    output:
        multiext("results/{tag}/answers/{question}", *CHAPTER),
        figure="results/{tag}/figures/answer_{question}.svg",
    log:
        "results/{tag}/logs/answers/{question}.log",
    params:
        module=dag.report.answer_module,
        tables=input_folder,
        folder=output_folder,
        code=dag.code(dag.report.answer_module),
    message:
        "Answer ({wildcards.question})"
    shell:
        "python -m {params.module} --tables {params.tables:q} --templates report_templates"
        " --figure {output.figure:q} --output {params.folder:q} --log {log:q} > {log:q} 2>&1"


# Reads that case's own tables, so that no other case has to be measured.
rule case_card:
    input:
        unpack(dag.report.card_inputs),
        plan="results/{tag}/plan.csv",
    output:
        "results/{tag}/answers/case/{case}.md",
    log:
        "results/{tag}/logs/answers/case/{case}.log",
    params:
        code=dag.code("answers.cards.one"),
    message:
        "Write the card of {wildcards.case}"
    shell:
        "python -m workflow_src.answers.cards.one --case-name {wildcards.case:q} --plan {input.plan:q}"
        " --tables {input.tables:q} --templates report_templates --markdown {output:q} > {log:q} 2>&1"
