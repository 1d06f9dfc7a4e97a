"""The tables that only the page has: files and commands of cases and points, and sources."""

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.matrix import heading
from workflow_src.common.case import LATER
from workflow_src.render.html import html_template
from workflow_src.render.value import Value
from workflow_src.report.commands import options, without_studies
from workflow_src.report.evidence import evidence
from workflow_src.report.run import Run


@dataclass(frozen=True)
class Case:
    """A case of the plan: its row as a stage takes it, and the files that measuring makes."""

    case: str
    size: str
    context: str
    precision: str
    row: str
    benchmark: str
    capture: str
    tables: str


@dataclass(frozen=True)
class Point:
    """A point of a study, or all of them with the study's section; the command that makes it."""

    study: str
    point: str
    command: str


def cases(plan: pd.DataFrame, results: str) -> tuple[Case, ...]:
    """The cases of a plan."""
    return tuple(_case(plan.loc[number], results) for number in plan.index)


def _case(row: pd.Series, results: str) -> Case:
    case = str(row["case"])
    suffix = ".nsys-rep" if row.get("profiler") == "nsys" else ".kineto.json.gz"
    told = {str(key): _plain(cell) for key, cell in row.items() if cell == cell and cell != ""}
    known = {name: cell for name, cell in told.items() if cell != LATER.get(name)}
    return Case(
        case=case,
        size=str(row["size"]),
        context=heading(int(str(row["context"]))),
        precision=str(row["precision"]),
        row=shlex.quote(json.dumps(known)),
        benchmark=f"{results}/benchmark/{case}.json",
        capture=f"{results}/capture/{case}{suffix}",
        tables=f"{results}/tables/{case}/",
    )


def _plain(cell: object) -> object:
    """A cell of the plan as JSON has it: whole numbers without a decimal point."""
    cell = cell.item() if hasattr(cell, "item") else cell
    if cell in ("True", "False"):
        return cell == "True"
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def points(run: Run) -> tuple[Point, ...]:
    """The points of the studies that ran, each study's section first."""
    added = options(without_studies(run.settings))
    found = []
    for part in run.studies:
        table = run.tables[f"studies/{part.name}"]
        names = dict.fromkeys(table["point"].astype("str")) if "point" in table else {}
        files = {"all, and the section": f"sections/{part.name}.md"}
        files |= {name: f"studies/{part.name}/{name}.json" for name in names}
        start = f"snakemake --cores 1 {run.results}"
        found += [Point(part.name, name, f"{start}/{file}{added}") for name, file in files.items()]
    return tuple(found)


def tables(run: Run, values: Iterable[Value], templates: Path) -> dict[str, Markup]:
    """The HTML of the page's own tables, by the names that page.md.j2 gives their places."""
    about: dict[str, dict[str, object]] = {
        "cases": {"cases": cases(run.plan, run.results)},
        "points": {"points": points(run)},
        "evidence": {"sources": evidence(values, run.results)},
    }
    return {
        name: Markup(html_template(templates, f"{name}.html.j2").render(**said))
        for name, said in about.items()
    }
