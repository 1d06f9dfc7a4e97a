"""Write a report of chapters by the functions that the rules' commands call."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from tests.answers.chapters import WRITTEN, chapter
from tests.synthetic_tables import Sample, write_tables
from tests.workflow import ROOT
from workflow_src.answers.tables import read_table
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.paper.number import Number
from workflow_src.paper.written import LINES, TEXTS, Written, write
from workflow_src.report import report

TEMPLATES = ROOT / "report_templates"
BLANK = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'


def blocks(**texts: str) -> dict[str, str]:
    """A chapter's blocks in one form, those that aren't given empty."""
    return dict.fromkeys((*LINES, *TEXTS), "") | texts


def of_cases(names: Iterable[str]) -> list[Written]:
    """An opening, the table of all cases and their cards, as the page's script takes them."""
    why = {"text": "12.0", "value": 12, "unit": "ms", "formula": "median_ms"}
    known = {"n0": why | {"rows": {"timings": "2"}}}
    rows = ""
    for name in names:
        size, context, precision = name.split("-")
        rows += (
            f'<tr data-case="{name}" data-size="{size}" data-context="{context[3:]}"'
            f' data-precision="{precision}"><td><a href="#case-{name}">{name}</a></td>'
            '<td class="r"><button class="n" value="n0">12.0</button></td></tr>'
        )
    head = "<thead><tr><th>case</th><th class=r>ms</th></tr></thead>"
    table = f'<div class="table"><table class="cards">{head}<tbody>{rows}</tbody></table></div>'
    cards = "".join(f'<section id="case-{name}"><h3>{name}</h3></section>' for name in names)
    title, lesson = "On one GPU: a model", "The GPU waits for Python."
    texts = blocks(title=title, question="batch 4", headline=lesson)
    more = [blocks(title="All cases", tables=table), blocks(title="Cards", tables=cards)]
    first = Written("opening", texts, texts, {}, "waits", level="#")
    empty = blocks(title="All cases")
    return [
        first,
        Written("cases", empty, more[0], known, ""),
        Written("cards", empty, more[1], {}, ""),
    ]


def chapters(folder: Path, *samples: Sample) -> list[Path]:
    """The chapters of samples in a folder: an opening, answers, a study, cases and cards."""
    tables = write_tables(folder / "tables", *samples)
    names = list(dict.fromkeys(read_table(tables / "timings.csv", "timings")["case"].astype(str)))
    opening, *of_them = of_cases(names)
    answers = [chapter(question, tables) for question in WRITTEN]
    values = {"value": Number(3.5, "ms", frozenset([("studies/mlp", 2)]), "step_ms")}
    values |= {"rows": pd.DataFrame({"width": list("abcdefghijklmnop"), "ms": values["value"]})}
    (folder / "study.j2").write_text(
        "{% block title %}MLP{% endblock %}{% block question %}how long?{% endblock %}"
        "{% block headline %}It takes {{ value }} ms.{% endblock %}"
        '{% block appendix %}{{ rows | table("Widths") }}{% endblock %}'
    )
    (folder / "chapter.failed.j2").touch()
    study = write("mlp", lambda: values, folder, ["study.j2"], level="###")
    written = [opening, *answers, study, *of_them]
    for each in written:
        each.write(folder, TEMPLATES)
    return [folder / f"{each.name}.md" for each in written]


def assemble(folder: Path, paths: Iterable[Path], *more: str) -> tuple[str, str, str]:
    """The report of some chapters: report.md, its appendix, and report.html."""
    made = [folder / name for name in ("report.md", "appendix.md", "report.html")]
    kinds = zip(("markdown", "appendix", "html"), made, strict=True)
    given = ["--chapters", *map(str, paths), f"--templates={TEMPLATES}", "--tag=mine", *more]
    report.main([*given, *(f"--{kind}={path}" for kind, path in kinds)])
    text, appendix, page = (path.read_text() for path in made)
    return text, appendix, page


def write_plan(results: Path) -> None:
    """A plan of the tables' cases; the last is captured for fewer steps."""
    plan = read_table(results / "tables" / "timings.csv", "timings")[list(CASE_COLUMNS)]
    if plan.empty:
        plan = pd.DataFrame([Sample().front])
    plan = plan.drop_duplicates().assign(warmup_steps=5, steps=10, capture_steps=3)
    plan.loc[plan.index[1:], "capture_steps"] = 1
    plan.to_csv(results / "plan.csv", index=False)
