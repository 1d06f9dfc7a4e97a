"""Compare the tables of two captures of other programs: as Markdown, HTML, JSON and CSV.

The exit status only says whether the comparison was made; `python -m workflow_src.compare.gate`
exits with its verdict.
"""

from collections.abc import Sequence
from pathlib import Path

from workflow_src.common.arguments import Parser, existing_folder, new_folder
from workflow_src.common.atomic_write import write_csv, write_json, write_text
from workflow_src.compare.captures import CapturesCompared, compare_captures, read_capture
from workflow_src.compare.captures_headline import STATUSES, Verdict, headline
from workflow_src.compare.gate import usage_status
from workflow_src.compare.result import SHOWN
from workflow_src.render.html import make_html
from workflow_src.render.show import Printer
from workflow_src.render.templates import render

TEMPLATE = "compare_captures.md.j2"


def text_of(found: CapturesCompared, templates: Path, whole: bool = False) -> str:
    """The comparison as Markdown; `whole` with all rows of its tables."""
    rows = None if whole else SHOWN
    return render(
        templates,
        TEMPLATE,
        Printer(),
        found=found,
        headline=headline(found),
        times=found.times_table,
        parts=found.parts_table,
        findings=found.findings_table[:rows],
        host=found.host_table[:rows],
        paths=found.paths_table[:rows],
        kernels=found.kernels_table[:rows],
    )


def write(found: CapturesCompared, folder: Path, templates: Path) -> None:
    """Write a comparison into a folder, the JSON with the verdict last."""
    page = make_html(text_of(found, templates, whole=True), folder, templates)
    said = headline(found)
    write_text(folder / "compare.md", text_of(found, templates))
    write_text(folder / "compare.html", page)
    write_csv(folder / "paths.csv", found.paths)
    write_csv(folder / "kernels.csv", found.kernels)
    write_csv(folder / "findings.csv", found.steps.findings)
    write_csv(folder / "host.csv", found.steps.host)
    verdict = {"a": found.a, "b": found.b, "verdict": str(said.text(Printer()))}
    status = STATUSES[Verdict[said.verdict.name]]
    write_json(folder / "compare.json", verdict | {"status": status, "processes_needed": None})


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the comparison of two captures into a folder."""
    parser = Parser(prog="workflow_src.compare.compare_captures", description=__doc__)
    for name, text in (("--a", "the capture before"), ("--b", "the capture after")):
        parser.add_argument(name, type=existing_folder, required=True, help=f"tables of {text}")
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--output", type=new_folder, required=True, help="folder for compare.md")
    given = parser.parse_args(arguments)
    with usage_status():
        found = compare_captures(read_capture(given.a), read_capture(given.b))
        write(found, given.output, given.templates)
        print(headline(found).text(Printer()))


if __name__ == "__main__":
    main()
