"""Publish a run: its report, figures and tables, without anything that names the machine."""

import json
import os
import re
import shutil
from functools import partial
from pathlib import Path

import pandas as pd

from workflow_src.common.arguments import Parser, existing_file, existing_folder, new_folder
from workflow_src.common.atomic_write import write_csv, write_json, write_text, write_whole
from workflow_src.common.environment import PRIVATE
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading

RESULTS = (
    "figures/*.svg",
    "tables/*.csv",
    "tables/studies/*.csv",
    "studies/*/*.json",
)
"""What is published of a run, as far as it was made, besides its report, appendix and plan."""


def _copy(source: Path, target: Path) -> None:
    """Copy a result; of a table and of a study's point, without what identifies a machine.

    Raises StageError for a missing or damaged file.
    """
    with reading(source, "a readable result", remake(source), StageError):
        if source.suffix == ".csv":
            table = pd.read_csv(source, dtype="str", keep_default_na=False)
            write_csv(target, table.drop(columns=[*PRIVATE], errors="ignore"))
        elif source.suffix == ".json":
            point = json.loads(source.read_text(encoding="utf-8"))
            kept = {k: v for k, v in point["environment"].items() if k not in PRIVATE}
            write_json(target, point | {"environment": kept})
        else:
            write_whole(target, partial(shutil.copy, source))


def publish(
    report: Path, results: Path, target: Path, command: str, page: Path | None = None
) -> None:
    """Write report.md, `page`, the report as HTML, and RESULTS under `target`.

    Of figures, those that are shown. Links are relative to it. Raises StageError for a missing or
    damaged file.
    """
    text = re.sub(r"\(results/[^()\s]*?/(figures/|appendix\.md)", r"(\1", _text(report))
    if target.resolve().is_relative_to(report.parent.resolve()):
        docs = Path(os.path.relpath(report.parent / "docs", target)).as_posix()
        text = text.replace("](docs/", f"]({docs}/")
    sources = [results / "appendix.md", results / "plan.csv"]
    shown = text + _text(sources[0])
    for path in sources + [path for place in RESULTS for path in sorted(results.glob(place))]:
        if path.suffix != ".svg" or path.name in shown:
            _copy(path, target / path.relative_to(results))
    write_text(target / "report.md", f"{text}\nReport made by `{command}`.\n")
    if page:
        write_text(target / "report.html", _text(page))


def _text(path: Path) -> str:
    with reading(path, "text", remake(path), StageError):
        return path.read_text(encoding="utf-8")


@one_sentence()
def main() -> None:
    """Publish a run."""
    parser = Parser(description=__doc__)
    parser.add_argument("--report", type=existing_file, default="report.md")
    parser.add_argument("--page", type=existing_file, help="report.html")
    parser.add_argument("--results", type=existing_folder, required=True, help="results/{tag}")
    parser.add_argument("--output", type=new_folder, required=True, help="folder")
    parser.add_argument("--command", required=True, help="the command that made the run")
    given = parser.parse_args()
    publish(given.report, given.results, given.output, given.command, given.page)


if __name__ == "__main__":
    main()
