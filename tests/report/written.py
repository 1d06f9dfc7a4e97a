"""Write a report of chapters by the functions that the rules' commands call."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from tests.answers.chapters import OF_REPORT, TEMPLATES, chapter, read_run, sampled
from tests.synthetic_tables import Sample
from workflow_src.answers.questions import QUESTIONS
from workflow_src.paper.number import Number
from workflow_src.paper.written import LINES, TEXTS, write
from workflow_src.report import report

BLANK = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'

STUDY = """{% block title %}MLP{% endblock %}
{% block question %}how long?{% endblock %}
{% block headline %}It takes {{ value }} ms.{% endblock %}
{% block appendix %}{{ rows | table("Widths") }}{% endblock %}"""


def blocks(**texts: str) -> dict[str, str]:
    """A chapter's blocks in one form, those that aren't given empty."""
    return dict.fromkeys((*LINES, *TEXTS), "") | texts


def chapters(folder: Path, *samples: Sample) -> list[Path]:
    """The chapters of samples: the opening, answers, a study, all cases, their cards, and others.

    They lie in a folder's answers/, beside its tables/ and the plan.
    """
    sampled(folder, *samples)
    texts = folder / "answers"
    run = read_run(folder)
    for name in (*QUESTIONS, "cards"):
        chapter(name, run).write(texts, TEMPLATES)
    # They read the chapters before.
    run = read_run(folder)
    for name in OF_REPORT:
        chapter(name, run).write(texts, TEMPLATES)
    (folder / "study.j2").write_text(STUDY)
    value = Number(3.5, "ms", frozenset([("studies/mlp", 2)]), "step_ms")
    rows = pd.DataFrame({"width": list("abcdefghijklmnop"), "ms": value})
    study = write("mlp", lambda: {"value": value, "rows": rows}, folder, ["study.j2"], level="###")
    study.write(texts, TEMPLATES)
    names = ["opening", *QUESTIONS, "mlp", "cases", "cards", "trust", "ran"]
    return [texts / f"{name}.md" for name in names]


def assemble(folder: Path, paths: Iterable[Path], *more: str) -> tuple[str, str, str]:
    """The report of some chapters: report.md, its appendix, and report.html."""
    made = [folder / name for name in ("report.md", "appendix.md", "report.html")]
    kinds = zip(("markdown", "appendix", "html"), made, strict=True)
    given = ["--chapters", *map(str, paths), f"--templates={TEMPLATES}", "--tag=mine", *more]
    report.main([*given, *(f"--{kind}={path}" for kind, path in kinds)])
    text, appendix, page = (path.read_text() for path in made)
    return text, appendix, page
