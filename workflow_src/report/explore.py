"""The parts of report.html that report.md lacks: where each number and each case comes from."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.evidence import Row
from workflow_src.answers.questions import QUESTIONS, REPORT_TABLES, Question
from workflow_src.render.html import html_template
from workflow_src.render.markdown import records
from workflow_src.report.linked import OPENING
from workflow_src.report.sources import Source, row_texts

NUMBERS, CASES, POINTS = "numbers", "cases", "points"
"""The names of the parts."""

CASES_TEXT = f"""
### Cases, their files and commands

Paths are relative to the project's folder. A letter leads to that answer's tables, filtered to \
the case. Raw results are not part of what is published, but their commands make them again.

{{{{{CASES}}}}}
"""
POINTS_TEXT = f"""
### Studies, their points and commands

A study measures its points one by one, in processes of their own, and its section is made from \
one table of them all.

{{{{{POINTS}}}}}
"""
NUMBERS_TEXT = f"""
### Where each number comes from

Each number in a sentence of the report leads here: to the value, its case or the study's point, \
and the rows of the table that support it (the header is row 1). A number without rows was \
computed from others.

{{{{{NUMBERS}}}}}
"""


@dataclass(frozen=True)
class Run:
    """What a page is made from: the folder of the run's tables, those that were read, its cases.

    options: what a command needs besides its files to have the run's settings.
    """

    folder: Path
    tag: str
    options: str
    tables: Mapping[str, pd.DataFrame]
    cases: Sequence[Row]

    @property
    def results(self) -> str:
        """The folder of the run's results, as the page names it."""
        return f"results/{self.tag}"

    @property
    def studies(self) -> list[str]:
        """The studies whose tables were read."""
        return [name.partition("/")[2] for name in self.tables if name.startswith("studies/")]

    @property
    def points(self) -> list[Row]:
        """Each study, then its points: the file that measuring makes, and the command."""
        found = []
        for study in self.studies:
            names = dict.fromkeys(self.tables[f"studies/{study}"]["point"].astype("str"))
            made = {"": f"sections/{study}.md"}
            made |= {name: f"studies/{study}/{name}.json" for name in names}
            found += [
                {"study": study, "point": name, "file": f"{self.results}/{file}"}
                for name, file in made.items()
            ]
        return found


def text(run: Run) -> str:
    """What follows the report's Markdown in the page."""
    points = POINTS_TEXT if run.studies else ""
    return f"\n\n## Evidence\n{CASES_TEXT}{points}{NUMBERS_TEXT}"


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


@dataclass(frozen=True)
class Part:
    """A part of the report: its name, the file that has its values, and what that is made from."""

    name: str
    file: str
    needed: Sequence[str]


def report_parts(run: Run) -> dict[str, Part]:
    """The parts of the report whose numbers are linked."""
    answers = {
        question: Part(f"({question})", f"answers/{question}.json", read_by(asked, run.folder))
        for question, asked in QUESTIONS.items()
    }
    studies = {
        study: Part(study, f"sections/{study}.json", [f"studies/{study}"]) for study in run.studies
    }
    return answers | studies | {OPENING: Part(OPENING, "", [*REPORT_TABLES, "plan"])}


def parts(sources: Sequence[Source], run: Run, templates: Path) -> dict[str, Markup]:
    """The HTML of each part by its name."""
    numbers = html_template(templates, "evidence.html.j2").render(
        sources=sources,
        cases={row["case"] for row in run.cases},
        results=run.results,
        parts=report_parts(run),
        studies=run.studies,
        rows={source.key: row_texts(source, run.tables) for source in sources},
    )
    about = html_template(templates, "cases.html.j2")
    points = html_template(templates, "points.html.j2")
    return {
        NUMBERS: Markup(numbers),
        CASES: Markup(about.render(cases=run.cases, questions=list(QUESTIONS))),
        POINTS: Markup(points.render(points=run.points, options=run.options)),
    }
