"""Write the report of some captures, from their tables: as Markdown and as one HTML page.

Both have a table's rows of the most time, the page more of them; the CSVs have all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from workflow_src.capture_report.headline import headlines, where
from workflow_src.capture_report.pictures import flame_chart, step_image
from workflow_src.capture_report.result import Captured, captured, read_tables
from workflow_src.capture_report.shown import FIRST, SHOWN
from workflow_src.common.arguments import Parser, existing_folder, new_file
from workflow_src.common.asked import noted
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import TraceError, one_sentence
from workflow_src.render.html import make_html
from workflow_src.render.show import Printer
from workflow_src.render.templates import render

TEMPLATE = "captures.md.j2"


def text_of(
    captures: Sequence[Captured],
    templates: Path,
    pictures: Mapping[str, Markup],
    whole: bool = False,
) -> str:
    """The report of some captures as Markdown; `whole` with all rows that the page has.

    `pictures` has the Markdown of those of a capture by its name.
    """
    shown = captures if whole else [shortened(each) for each in captures]
    said = []
    for each in shown:
        first, *more = headlines(each)
        said.append((each, first, more, where(each), pictures.get(each.name, "")))
    return render(templates, TEMPLATE, Printer(), captures=said)


def shortened(found: Captured) -> Captured:
    """A capture with the longest tables cut: the paths and kernels of the most time.

    Paths that processes share stand there once.
    """
    paths = _most(found.paths, "device, ms") if found.ranks.empty else found.paths[:0]
    steps, ranks, kernels = (rows[:SHOWN] for rows in (found.steps, found.ranks, found.kernels))
    idle = _most(found.idle, "idle, ms")
    tables = {name: table[:FIRST] for name, table in found.diagnosed.tables.items()}
    return replace(
        found,
        paths=paths,
        steps=steps,
        idle=idle,
        ranks=ranks,
        kernels=kernels,
        diagnosed=replace(found.diagnosed, tables=tables),
    )


def _most(paths: pd.DataFrame, column: str) -> pd.DataFrame:
    """The paths with the most time in a column, in the order of the paths."""
    ms = [each.number if each else 0.0 for each in paths[column]]
    order = sorted(range(len(ms)), key=lambda place: -ms[place])[:SHOWN]
    return paths.iloc[sorted(order)]


def _captured(tables: Mapping[str, Mapping[str, pd.DataFrame]]) -> list[Captured]:
    """What the tables of each capture say, those that can't be read first.

    Raises TraceError, with the reasons, if none can be read.
    """
    found = [captured(name, its) for name, its in tables.items()]
    problems = [each.problem for each in found if each.problem]
    if len(problems) == len(found):
        raise TraceError("\n".join(problems))
    return sorted(found, key=lambda each: each.problem is None)


def page(
    captures: Sequence[Captured],
    templates: Path,
    steps: Mapping[str, Markup],
    charts: Mapping[str, Markup],
    beside: Path,
) -> str:
    """The report as one HTML page beside which the images of `steps` are; a chart by each name."""
    places = {name: f"flame {place}" for place, name in enumerate(charts)}
    drawn = {name: Markup(f"@@{places[name]}@@\n\n{steps[name]}") for name in charts}
    text = text_of(captures, templates, drawn, whole=True)
    return make_html(text, beside, templates, {places[name]: charts[name] for name in charts})


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
    given = parser.parse_args(arguments)
    with one_sentence():
        folders = {folder.name: folder for folder in given.tables}
        tables = {name: read_tables(folder) for name, folder in folders.items()}
        found, beside = _captured(tables), given.html.parent
        steps = {each.name: step_image(each, folders[each.name], beside) for each in found}
        charts = {each.name: flame_chart(each.name, tables[each.name]["kernels"]) for each in found}
        text = text_of(found, given.templates, steps)
        html = page(found, given.templates, steps, charts, beside)
        write_text(given.markdown, noted(text, given.asked))
        write_text(given.html, noted(html, given.asked))


if __name__ == "__main__":
    main()
