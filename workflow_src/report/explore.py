"""The parts of report.html that report.md lacks: where each number and each case comes from."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.evidence import Row
from workflow_src.answers.questions import QUESTIONS, Question
from workflow_src.render.html import html_template
from workflow_src.render.markdown import records
from workflow_src.report.sources import Source, row_texts

NUMBERS, CASES = "numbers", "cases"
"""The names of the parts."""

TEXT = "\n\n".join(
    (
        "\n## Evidence",
        "### Cases, their files and commands",
        "Paths are relative to the project's folder. A letter leads to that answer's tables, "
        "filtered to the case. Raw results are not part of what is published, but their commands "
        "make them again.",
        f"{{{{{CASES}}}}}",
        "### Where each number comes from",
        "Each number in the sentences of the answers leads here: to the value in the answer, its "
        "case, and the rows of the table that support it (the header is row 1). A number without "
        "rows was computed from others.",
        f"{{{{{NUMBERS}}}}}\n",
    )
)
"""What follows the report's Markdown in the page."""


def cases(plan: pd.DataFrame, tag: str) -> list[Row]:
    """Of each case of the plan: the files that measuring it makes, and its row as an argument."""
    return [row | _of_case(row, f"results/{tag}") for row in records(plan)]


def _of_case(row: Row, results: str) -> Row:
    case, nsys = row["case"], row.get("profiler") == "nsys"
    files = {
        "benchmark": f"{results}/benchmark/{case}.json",
        "capture": f"{results}/capture/{case}{'.nsys-rep' if nsys else '.kineto.json.gz'}",
        "tables": f"{results}/tables/{case}/",
    }
    known = {key: _plain(v) for key, v in row.items() if v == v and v != ""}
    return files | {"given": shlex.quote(json.dumps(known))}


def _plain(value: Any) -> Any:
    """A cell of the plan as JSON has it: whole numbers without a decimal point."""
    value = value.item() if hasattr(value, "item") else value
    if value in ("True", "False"):
        return value == "True"
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read_by(asked: Question, folder: Path) -> list[str]:
    """The tables of a run that the answer to a question is made from, without ".csv"."""
    optional = [*asked.optional, *(f"studies/{study}" for study in asked.studies)]
    return [*asked.tables, *(name for name in optional if (folder / f"{name}.csv").is_file())]


def parts(
    sources: Sequence[Source],
    found: Sequence[Row],
    tables: Mapping[str, pd.DataFrame],
    folder: Path,
    tag: str,
    templates: Path,
) -> dict[str, Markup]:
    """The HTML of each part by its name; `folder` is that of the tables."""
    numbers = html_template(templates, "evidence.html.j2").render(
        sources=sources,
        cases={row["case"] for row in found},
        tables=f"results/{tag}/tables",
        answers=f"results/{tag}/answers",
        needed={question: read_by(asked, folder) for question, asked in QUESTIONS.items()},
        rows={source.key: row_texts(source, tables) for source in sources},
    )
    about = html_template(templates, "cases.html.j2").render(cases=found, questions=list(QUESTIONS))
    return {NUMBERS: Markup(numbers), CASES: Markup(about)}
