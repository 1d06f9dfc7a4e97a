"""Write the report of some captures, from their tables: as Markdown and as one HTML page.

Both have a table's rows of the most time, the page more of them; the CSVs have all.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from workflow_src.capture_report.diagnosis_result import Tables
from workflow_src.capture_report.headline import headlines, where
from workflow_src.capture_report.pictures import flame_chart, step_image
from workflow_src.capture_report.result import (
    Captured,
    captured,
    notes_of,
    read_tables,
)
from workflow_src.capture_report.shown import FIRST, SHOWN
from workflow_src.captures.capture import UNREADABLE
from workflow_src.common.arguments import Parser, existing_folder, new_file
from workflow_src.common.asked import noted
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import TraceError, one_sentence
from workflow_src.paper.chapter import Chapter, Words
from workflow_src.paper.html import make_html
from workflow_src.paper.markdown import escape
from workflow_src.paper.show import Printer
from workflow_src.paper.templates import render

FRAME = "captures.md.j2"
"""Stands around the sections of all captures."""


def section(folder: Path, beside: Path, place: str = "") -> Chapter[Tables, Captured]:
    """The chapter of the capture whose tables are in a folder, in a file beside its step's image.

    place: what stands in the page for its flame chart, if it has one.
    """
    name = folder.name
    chart = Markup(f"@@{place}@@\n\n") if place else Markup("")

    def words(tables: Tables, result: Captured, whole: bool) -> Words:
        step = step_image(result, folder, beside)
        return {
            "result": result if whole else shortened(result),
            "more": headlines(result)[1:],
            "where": where(result),
            "pictures": chart + step if whole else step,
        }

    return Chapter(
        heading=f"## {escape(name)}",
        template="capture",
        result=lambda tables: captured(name, tables),
        headline=lambda result: headlines(result)[0],
        named={"title": name},
        words=words,
    )


def shortened(found: Captured) -> Captured:
    """A capture with the longest tables cut: the paths and kernels of the most time.

    Paths that processes share stand there once.
    """
    its = found.tables
    tables = dict(its) | {name: its[name][:SHOWN] for name in ("steps", "ranks", "kernels")}
    tables["paths"] = _most(its["paths"], "device, ms") if its["ranks"].empty else its["paths"][:0]
    tables["idle"] = _most(its["idle"], "idle, ms")
    first = {name: table[:FIRST] for name, table in found.diagnosed.tables.items()}
    return replace(found, tables=tables, diagnosed=replace(found.diagnosed, tables=first))


def _most(paths: pd.DataFrame, column: str) -> pd.DataFrame:
    """The paths with the most time in a column, in the order of the paths."""
    ms = [each.number if each else 0.0 for each in paths[column]]
    order = sorted(range(len(ms)), key=lambda place: -ms[place])[:SHOWN]
    return paths.iloc[sorted(order)]


def readable_last(tables: Mapping[str, Tables]) -> list[str]:
    """The names of captures, those that can't be read first.

    Raises TraceError, with the reasons, if none can be read.
    """
    problems = {name: notes_of(its).get(UNREADABLE) for name, its in tables.items()}
    if all(problems.values()):
        raise TraceError("\n".join(map(str, problems.values())))
    return sorted(problems, key=lambda name: problems[name] is None)


def framed(sections: Iterable[str], templates: Path) -> str:
    """The report of some captures as Markdown, from their sections."""
    return render(templates, FRAME, Printer(), sections=[Markup(each) for each in sections])


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the report of some captures."""
    parser = Parser(prog="workflow_src.capture_report.report", description=__doc__)
    parser.add_argument(
        "--tables", type=existing_folder, nargs="+", required=True, help="a folder per capture"
    )
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--asked", default="", help="what it is made for, noted at its end")
    parser.add_argument("--markdown", type=new_file, required=True, help="report.md")
    parser.add_argument("--html", type=new_file, required=True, help="report.html")
    parser.add_argument("--log", default="its log", help="what a failed section refers to")
    given = parser.parse_args(arguments)
    with one_sentence():
        folders = {folder.name: folder for folder in given.tables}
        tables = {name: read_tables(folder) for name, folder in folders.items()}
        beside, written = given.html.parent, []
        charts: dict[str, Markup] = {}
        for name in readable_last(tables):
            place = f"flame {len(charts)}"
            charts[place] = flame_chart(name, tables[name]["kernels"])
            chapter = section(folders[name], beside, place)
            written.append(chapter.written(tables[name], given.templates, given.log, linked=False))
        text = framed((each.markdown for each in written), given.templates)
        page = framed((each.page for each in written), given.templates)
        html = make_html(page, beside, given.templates, charts)
        write_text(given.markdown, noted(text, given.asked))
        write_text(given.html, noted(html, given.asked))


if __name__ == "__main__":
    main()
