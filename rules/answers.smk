# One rule for all questions; each reads only the tables that QUESTIONS lists for it.
localrules:
    answer,
    case_answers,


rule answer:
    input:
        unpack(dag.answers.inputs),
    output:
        json="results/{tag}/answers/{question}.json",
        markdown=report(
            "results/{tag}/answers/{question}.md",
            category="Answers",
            labels={"question": "({question})"},
        ),
        appendix="results/{tag}/answers/{question}.appendix.md",
    log:
        "results/{tag}/logs/answers/{question}.log",
    params:
        module=dag.answers.module,
        code=dag.code(dag.answers.module),
    message:
        "Answer ({wildcards.question})"
    shell:
        "python -m {params.module} --tables results/{wildcards.tag}/tables"
        " --templates report_templates --json {output.json:q} --markdown {output.markdown:q}"
        " --appendix {output.appendix:q}"
        " > {log:q} 2>&1"


# Reads that case's own tables, so that no other case has to be measured.
rule case_answers:
    input:
        unpack(dag.answers.case_inputs),
        plan="results/{tag}/plan.csv",
    output:
        "results/{tag}/answers/case/{case}.md",
    log:
        "results/{tag}/logs/answers/case/{case}.log",
    params:
        tables=input_folder,
        questions=dag.answers.every_code,
        code=dag.code("answers.one_case"),
    message:
        "Answer all questions for {wildcards.case}"
    shell:
        "python -m workflow_src.answers.one_case --case-name {wildcards.case:q} --plan {input.plan:q}"
        " --tables {params.tables:q} --templates report_templates --markdown {output:q} > {log:q} 2>&1"
