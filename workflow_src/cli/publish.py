"""Publish a run: its report, figures and tables, without anything that names the machine.

An nsys export holds host names, thread names, paths and the environment; its published copy holds
only what attribution and reports read.
"""

import json
import os
import re
import shutil
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.captures.store import names_of
from workflow_src.common.arguments import (
    Parser,
    existing_file,
    existing_folder,
    new_file,
    new_folder,
)
from workflow_src.common.asked import without_note
from workflow_src.common.atomic_write import write_csv, write_json, write_text, write_whole
from workflow_src.common.case import TABLES
from workflow_src.common.environment import PRIVATE
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading

EXPORTED = {
    "META_DATA_EXPORT": (),
    "ENUM_CUDA_MEMCPY_OPER": (),
    "NVTX_EVENTS": ("textId",),
    "CUPTI_ACTIVITY_KIND_KERNEL": ("demangledName",),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (),
    "CUPTI_ACTIVITY_KIND_MEMSET": (),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("nameId",),
    "PROFILER_OVERHEAD": (),
}
"""The tables of an nsys export that are kept, and their columns that refer to StringIds."""


def clean_export(source: Path, target: Path) -> None:
    """Copy an nsys SQLite export, keeping only what attribution and reports read.

    Raises StageError if `source` isn't one.
    """

    def write(partial: Path) -> None:
        shutil.copy(source, partial)
        expected = "an SQLite export of nsys"
        with (
            reading(source, expected, "give the trace.sqlite of an export", StageError),
            closing(sqlite3.connect(partial)) as connection,
        ):
            connection.execute("SELECT name, value FROM META_DATA_EXPORT")
            _drop_the_rest(connection)

    write_whole(target, write)


def _drop_the_rest(connection: sqlite3.Connection) -> None:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    tables = {name for (name,) in connection.execute(query)}
    kept = {name for table in (*EXPORTED, "StringIds") for name in names_of(table)}
    for table in tables - kept:
        connection.execute(f'DROP TABLE "{table}"')
    used = " UNION ".join(
        f'SELECT "{column}" FROM "{table}" WHERE "{column}" IS NOT NULL'
        for known, columns in EXPORTED.items()
        for table in tables.intersection(names_of(known))
        for name in columns
        for column in names_of(name)
    )
    if used and "StringIds" in tables:
        connection.execute(f"DELETE FROM StringIds WHERE id NOT IN ({used})")
    # The other rows name the host, the user and the folders that nsys export ran in.
    connection.execute("DELETE FROM META_DATA_EXPORT WHERE name NOT LIKE 'EXPORT_PRODUCT%'")
    connection.commit()
    connection.execute("VACUUM")


def public_tables(results: Path) -> dict[str, pd.DataFrame]:
    """The joined tables of a run, including those of studies, without private columns, by path."""
    folder = results / "tables"
    found = {}
    # An older run lacks the tables that were added since.
    of_cases = [
        path
        for name in (*TABLES, "findings", "ceilings")
        if (path := folder / f"{name}.csv").is_file()
    ]
    for path in of_cases + sorted(folder.glob("studies/*.csv")):
        with reading(path, "a readable table", remake(path), StageError):
            table = pd.read_csv(path, dtype="str", keep_default_na=False)
        kept = table.drop(columns=[name for name in PRIVATE if name in table.columns])
        found[str(path.relative_to(results))] = kept
    return found


def public_points(results: Path) -> dict[str, Any]:
    """The measured points of studies without what names a machine, by path."""
    found = {}
    for path in sorted(results.glob("studies/*/*.json")):
        with reading(path, "a study's result", remake(path), StageError):
            point = json.loads(path.read_text(encoding="utf-8"))
            kept = {k: v for k, v in point["environment"].items() if k not in PRIVATE}
            found[str(path.relative_to(results))] = point | {"environment": kept}
    return found


def public_texts(report: Path, results: Path, target: Path, command: str) -> dict[str, str]:
    """The report with links relative to `target`, the figures and the plan, by path."""
    text = _text(report)
    if not text.startswith("# "):
        raise StageError(f"{report} is not a report: its first line is no title")
    local = re.sub(r"\(results/[^()\s]*?/(figures/|appendix\.md)", r"(\1", text)
    if target.resolve().is_relative_to(report.parent.resolve()):
        docs = Path(os.path.relpath(report.parent / "docs", target)).as_posix()
        local = local.replace("](docs/", f"]({docs}/")
    figures = {
        f"figures/{path.name}": _text(path) for path in sorted(results.glob("figures/*.svg"))
    }
    made = {"report.md": with_command(local, command)}
    made |= {name: _text(results / name) for name in ("appendix.md", "plan.csv")}
    return made | figures


def public_steps(results: Path) -> dict[str, Path]:
    """The steps for Perfetto, by path below the target; the page has their pictures."""
    paths = sorted(results.glob("timelines/*.trace.json.gz"))
    return {str(path.relative_to(results)): path for path in paths}


def _text(path: Path) -> str:
    with reading(path, "text", remake(path), StageError):
        return without_note(path.read_text(encoding="utf-8"))


def with_command(report: str, command: str) -> str:
    """The report with the command that made it below."""
    return f"{report}\nReport made by `{command}`.\n"


def publish(report: Path, results: Path, target: Path, command: str, page: Path = Path()) -> None:
    """Write report.md, figures/, tables/, studies/ and plan.csv under `target`.

    Also timelines/ as far as they were made, and `page`, the report as HTML, if it is a file.
    Raises StageError for a missing or damaged file, before anything is written.
    """
    texts = public_texts(report, results, target, command)
    tables, points = public_tables(results), public_points(results)
    if page.is_file():
        # What saves a step's trace.
        texts["report.html"] = re.sub(
            r'href="results/[^"]*?/timelines/', 'href="timelines/', _text(page)
        )
        if not texts["report.html"].lower().startswith("<!doctype html"):
            raise StageError(
                f"{page} is not a report as HTML: it doesn't begin with <!DOCTYPE html>"
            )
    for name, text in texts.items():
        write_text(target / name, text)
    for name, table in tables.items():
        write_csv(target / name, table)
    for name, point in points.items():
        write_json(target / name, point)
    for name, source in public_steps(results).items():
        write_whole(target / name, partial(shutil.copy, source))


@one_sentence()
def main() -> None:
    """Publish a run, or clean one nsys export."""
    parser = Parser(description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    run = kinds.add_parser("run", help="report, figures, tables and plan")
    run.add_argument("--report", type=existing_file, default="report.md")
    run.add_argument("--page", type=existing_file, default=Path(), help="report.html")
    run.add_argument("--results", type=existing_folder, required=True, help="results/{tag}")
    run.add_argument("--output", type=new_folder, required=True, help="folder")
    run.add_argument("--command", required=True, help="the command that made the run")
    one = kinds.add_parser("export", help="one nsys SQLite export")
    one.add_argument("source", type=existing_file)
    one.add_argument("target", type=new_file)
    given = parser.parse_args()
    if given.kind == "run":
        publish(given.report, given.results, given.output, given.command, given.page)
    else:
        clean_export(given.source, given.target)


if __name__ == "__main__":
    main()
