"""The tables that only the page has: files and commands of cases and points, and sources."""

import json
import shlex
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import quote

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.matrix import heading
from workflow_src.common.case import LATER
from workflow_src.paper.page_table import PageCell, PageTable
from workflow_src.paper.value import Value
from workflow_src.report.commands import options, without_studies
from workflow_src.report.evidence import evidence
from workflow_src.report.run import Run

MEASURES = (
    "python -m workflow_src.measure.benchmark",
    "python -m workflow_src.measure.capture",
)
"""What measures a case, and what captures it; their text, which runs neither."""


def tables(run: Run, values: Iterable[Value]) -> dict[str, PageTable]:
    """The page's own tables, by the names that page.md.j2 gives their places."""
    return {
        "commands": cases(run.plan, run.results),
        "points": points(run),
        "evidence": sources(values),
    }


def cases(plan: pd.DataFrame, results: str) -> PageTable:
    """A row per case of a plan: how it was measured, and the files that this made."""
    heads = ("case", "commands that measured it", "files", "size", "context", "precision")
    return PageTable(
        heads=heads,
        rows=tuple(_case(plan.loc[number], results) for number in plan.index),
        right=(False,) * len(heads),
        ids=tuple(f"case-{case}" for case in plan["case"]),
        title="cases",
        label="cases with their files and commands",
    )


def _case(row: pd.Series, results: str) -> tuple[PageCell, ...]:
    case = str(row["case"])
    suffix = ".nsys-rep" if row.get("profiler") == "nsys" else ".kineto.json.gz"
    told = {str(key): _plain(cell) for key, cell in row.items() if cell == cell and cell != ""}
    known = {name: cell for name, cell in told.items() if cell != LATER.get(name)}
    as_json = shlex.quote(json.dumps(known))
    benchmark, capture = f"{results}/benchmark/{case}.json", f"{results}/capture/{case}{suffix}"
    measured = [
        f"{start} --case {as_json} --output {path}"
        for start, path in zip(MEASURES, (benchmark, capture), strict=True)
    ]
    link = Markup('<a href="#case={}">{}</a>').format(quote(case), case)
    axes = (str(row["size"]), heading(int(str(row["context"]))), str(row["precision"]))
    return (
        PageCell(case, link),
        _code(measured, "text"),
        _code([benchmark, capture, f"{results}/tables/{case}/"], ""),
        *map(PageCell.plain, axes),
    )


def _code(lines: Iterable[str], kind: str) -> PageCell:
    """Commands or files, a line each."""
    every = [Markup("<code>{}</code>").format(line) for line in lines]
    return PageCell("".join(each.striptags() for each in every), Markup("<br>").join(every), kind)


def _plain(cell: object) -> object:
    """A cell of the plan as JSON has it: whole numbers without a decimal point."""
    cell = cell.item() if hasattr(cell, "item") else cell
    if cell in ("True", "False"):
        return cell == "True"
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def points(run: Run) -> PageTable:
    """A row per point of the studies that ran, each study's section first: the command for it."""
    added = options(without_studies(run.settings))
    rows = []
    for part in run.studies:
        table = run.tables[f"studies/{part.name}"]
        names = dict.fromkeys(table["point"].astype("str")) if "point" in table else {}
        files = {"all, and the section": f"sections/{part.name}.md"}
        files |= {name: f"studies/{part.name}/{name}.json" for name in names}
        for name, file in files.items():
            command = f"snakemake --cores 1 {run.results}/{file}{added}"
            rows.append((PageCell.plain(part.name), PageCell.plain(name), _code([command], "text")))
    return PageTable(
        heads=("study", "point", "command that measures it, and its file"),
        rows=tuple(rows),
        right=(False,) * 3,
        title="points",
        label="points of the studies with their commands",
    )


def sources(values: Iterable[Value]) -> PageTable:
    """A row for each set of table rows that values rest on."""
    every = evidence(values)
    return PageTable(
        heads=("file and lines", "how the number follows"),
        rows=tuple(
            (_files(each.rows), replace(PageCell.plain("; ".join(each.formulas)), kind=""))
            for each in every
        ),
        right=(False, False),
        ids=tuple(each.key for each in every),
        title="sources",
        label="sources of the numbers",
    )


def _files(rows: Iterable[str]) -> PageCell:
    codes = Markup("").join(Markup("<code>{}</code> ").format(each) for each in rows)
    return PageCell(codes.striptags(), codes, "")
