"""Write the report of some captures, from their tables: as Markdown and as one HTML page.

Both have a table's rows of the most time, the page more of them; the CSVs have all.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from workflow_src.capture_report.capture import Capture, share
from workflow_src.capture_report.chapter import facts, shortened
from workflow_src.capture_report.ranked import ranked
from workflow_src.capture_report.screen import first_screen, whole_ms
from workflow_src.capture_report.summary import summary
from workflow_src.captures.capture import UNREADABLE
from workflow_src.common.arguments import Parser, existing_folder, new_file
from workflow_src.common.atomic_write import write_json, write_text
from workflow_src.common.errors import StageError, TraceError, one_sentence, remake
from workflow_src.common.reading import reading
from workflow_src.paper import written
from workflow_src.paper.cells import Link
from workflow_src.paper.number import NAN, is_number
from workflow_src.paper.page import page
from workflow_src.paper.run import Run, first
from workflow_src.paper.written import Written

TITLE = "What is wrong with a step, and where device time goes"


def chapter(capture: Capture, folder: Path, beside: Path, templates: Path, log: str) -> Written:
    """A capture's chapter, for a report beside `beside`; with the picture of its step, if it has
    steps and one was drawn."""
    path, svg, picture = folder / "step.svg", "", None
    if len(capture["steps"]) and path.is_file():
        with reading(path, "an SVG", remake(path), StageError):
            svg = path.read_text(encoding="utf-8")
            svg = svg[svg.index("<svg") :]
        picture = Path(os.path.relpath(path, beside))
    return written.write(
        capture.name, lambda: facts(capture), templates, ["capture.j2"], picture, log=log,
        drawing=svg, short=shortened,
    )  # fmt: skip


def readable_last(captures: Sequence[Capture]) -> list[Capture]:
    """Captures, unreadable ones first. Raises TraceError, with the reasons, if none can be read."""
    problems = [capture.noted.get(UNREADABLE) for capture in captures]
    if all(problems):
        raise TraceError("\n".join(map(str, problems)))
    return sorted(captures, key=lambda capture: UNREADABLE not in capture.noted)


def overview(captures: Sequence[Capture]) -> pd.DataFrame:
    """A row per capture: its step, how much of it the device works, the pace, what saves most."""
    return pd.DataFrame([_line(each) for each in captures if captures[1:]], dtype=object)


def _line(capture: Capture) -> Mapping[str, object]:
    said = first_screen(capture)
    row, most = said["row"], first(ranked(capture))
    step = row["step_ms"] if is_number(row["step_ms"]) else row["recorded_ms"]
    return {
        "capture": Link(capture.name, capture.name),
        "step": whole_ms(step),
        "busy": share(step - row["device_idle_ms"], step),
        "pace": row["pace"],
        "first": most["name"] if is_number(most["saves_ms"]) else said["verdict"] or NAN,
        "saves": whole_ms(most["saves_ms"]),
    }


def write_report(
    folders: Sequence[Path],
    html: Path,
    templates: Path,
    log: str = "",
    markdown: Path | None = None,
) -> list[Capture]:
    """Write the report of the captures whose tables are in some folders, and a summary into each.
    Raises TraceError as readable_last does."""
    places = {folder.name: folder for folder in folders}
    every = [Capture(Run.of_capture(folder), name) for name, folder in places.items()]
    every, log = readable_last(every), log or "what was printed"
    first = written.write(
        "captures",
        lambda: {"title": TITLE, "rows": overview(every)},
        templates,
        ["captures.j2"],
        log=log,
    )
    made = (chapter(each, places[each.name], html.parent, templates, log) for each in every)
    chapters = [first, *made]
    if markdown:
        texts = [each.text("md", templates, "capture") for each in chapters]
        write_text(markdown, "\n\n".join(texts) + "\n")
    blocks = [each.text("html", templates, "capture") for each in chapters]
    blocks += [each.text("appendix.html", templates) for each in chapters]
    contents = {each.name: each.name for each in every}
    evidence = {key: why for each in chapters for key, why in each.evidence.items()}
    write_text(html, page(TITLE, blocks, evidence, contents, templates))
    for each in every:
        write_json(places[each.name] / "summary.json", summary(each, templates))
    return every


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the report of some captures."""
    parser = Parser(prog="workflow_src.capture_report.report", description=__doc__)
    # A folder per capture.
    parser.add_argument("--tables", dest="folders", type=existing_folder, nargs="+", required=True)
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--markdown", type=new_file, required=True, help="report.md")
    parser.add_argument("--html", type=new_file, required=True, help="report.html")
    parser.add_argument("--log", default="its log", help="what a failed section refers to")
    given = parser.parse_args(arguments)
    with one_sentence():
        write_report(**vars(given))


if __name__ == "__main__":
    main()
