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

EXPORTED = (
    "META_DATA_EXPORT",
    "ENUM_CUDA_MEMCPY_OPER",
    "NVTX_EVENTS",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "PROFILER_OVERHEAD",
    "StringIds",
)
"""The tables of an nsys export that are kept."""

TEXTS = ("textId", "demangledName", "nameId")
"""Their columns that refer to StringIds."""


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
    kept = {name for table in EXPORTED for name in names_of(table)}
    texts, used = {name for column in TEXTS for name in names_of(column)}, set[int]()
    for (table,) in connection.execute(query).fetchall():
        if table not in kept:
            connection.execute(f'DROP TABLE "{table}"')
            continue
        described = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
        for column in texts.intersection(name for _, name, *_ in described):
            used |= {row for (row,) in connection.execute(f'SELECT "{column}" FROM "{table}"')}
    ids = ", ".join(str(each) for each in used if each is not None)
    connection.execute(f"DELETE FROM StringIds WHERE id NOT IN ({ids})")
    # The other rows name the host, the user and the folders that nsys export ran in.
    connection.execute("DELETE FROM META_DATA_EXPORT WHERE name NOT LIKE 'EXPORT_PRODUCT%'")
    connection.commit()
    connection.execute("VACUUM")


def public_tables(results: Path) -> dict[str, pd.DataFrame]:
    """The joined tables of a run, including those of studies, without private columns, by path."""
    folder, found = results / "tables", {}
    # An older run lacks the tables that were added since.
    joined = [folder / f"{name}.csv" for name in (*TABLES, "findings", "ceilings")]
    for path in [*filter(Path.is_file, joined), *sorted(folder.glob("studies/*.csv"))]:
        with reading(path, "a readable table", remake(path), StageError):
            table = pd.read_csv(path, dtype="str", keep_default_na=False)
        found[str(path.relative_to(results))] = table.drop(columns=[*PRIVATE], errors="ignore")
    return found


def _points(results: Path) -> dict[str, Any]:
    """The measured points of studies without what names a machine, by path."""
    found = {}
    for path in sorted(results.glob("studies/*/*.json")):
        with reading(path, "a study's result", remake(path), StageError):
            point = json.loads(path.read_text(encoding="utf-8"))
            kept = {k: v for k, v in point["environment"].items() if k not in PRIVATE}
            found[str(path.relative_to(results))] = point | {"environment": kept}
    return found


def _texts(report: Path, page: Path, results: Path, target: Path, command: str) -> dict[str, str]:
    """The report and its page with links relative to `target`, figures and the plan, by path."""
    text, html = _text(report), _text(page) if page.is_file() else ""
    if not text.startswith("# "):
        raise StageError(f"{report} is not a report: its first line is no title")
    if html and not html.lower().startswith("<!doctype html"):
        raise StageError(f"{page} is not a report as HTML: it doesn't begin with <!DOCTYPE html>")
    local = re.sub(r"\(results/[^()\s]*?/(figures/|appendix\.md)", r"(\1", text)
    if target.resolve().is_relative_to(report.parent.resolve()):
        docs = Path(os.path.relpath(report.parent / "docs", target)).as_posix()
        local = local.replace("](docs/", f"]({docs}/")
    made = {"report.md": f"{local}\nReport made by `{command}`.\n"}
    # What saves a step's trace.
    saved = re.sub(r'href="results/[^"]*?/timelines/', 'href="timelines/', html)
    made |= {"report.html": saved} if html else {}
    figures = sorted(results.glob("figures/*.svg"))
    copied = [results / "appendix.md", results / "plan.csv", *figures]
    return made | {str(path.relative_to(results)): _text(path) for path in copied}


def _text(path: Path) -> str:
    with reading(path, "text", remake(path), StageError):
        return without_note(path.read_text(encoding="utf-8"))


def publish(report: Path, results: Path, target: Path, command: str, page: Path = Path()) -> None:
    """Write report.md, figures/, tables/, studies/ and plan.csv under `target`.

    Also timelines/ as far as they were made, for Perfetto, and `page`, the report as HTML, if it is
    a file. Raises StageError for a missing or damaged file, before anything is written.
    """
    texts = _texts(report, page, results, target, command)
    tables, points = public_tables(results), _points(results)
    for name, text in texts.items():
        write_text(target / name, text)
    for name, table in tables.items():
        write_csv(target / name, table)
    for name, point in points.items():
        write_json(target / name, point)
    for source in sorted(results.glob("timelines/*.trace.json.gz")):
        write_whole(target / source.relative_to(results), partial(shutil.copy, source))


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
