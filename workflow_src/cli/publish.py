"""Publish a run: its report, figures and tables, without anything that names the machine.

An nsys export holds host names, thread names, paths and the environment; its published copy holds
only what attribution and reports read.
"""

import argparse
import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd

from workflow_src.common.atomic_write import write_csv, write_json, write_text, write_whole
from workflow_src.common.case import TABLES
from workflow_src.common.environment import PRIVATE

EXPORTED = {
    "META_DATA_EXPORT": (),
    "ENUM_CUDA_MEMCPY_OPER": (),
    "NVTX_EVENTS": ("textId",),
    "CUPTI_ACTIVITY_KIND_KERNEL": ("demangledName", "shortName", "mangledName"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (),
    "CUPTI_ACTIVITY_KIND_MEMSET": (),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("nameId",),
}
"""The tables of an nsys export that are kept, and their columns that refer to StringIds."""


def clean_export(source: Path, target: Path) -> None:
    """Copy an nsys SQLite export, keeping only what attribution and reports read."""

    def write(partial: Path) -> None:
        shutil.copy(source, partial)
        with closing(sqlite3.connect(partial)) as connection:
            _drop_the_rest(connection)

    write_whole(target, write)


def _drop_the_rest(connection: sqlite3.Connection) -> None:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    tables = {name for (name,) in connection.execute(query)}
    for table in tables - EXPORTED.keys() - {"StringIds"}:
        connection.execute(f'DROP TABLE "{table}"')
    used = " UNION ".join(
        f'SELECT "{column}" FROM "{table}" WHERE "{column}" IS NOT NULL'
        for table, columns in EXPORTED.items()
        if table in tables
        for column in columns
    )
    if used and "StringIds" in tables:
        connection.execute(f"DELETE FROM StringIds WHERE id NOT IN ({used})")
    if "META_DATA_EXPORT" in tables:
        # The other rows name the host, the user and the folders that nsys export ran in.
        connection.execute("DELETE FROM META_DATA_EXPORT WHERE name NOT LIKE 'EXPORT_PRODUCT%'")
    connection.commit()
    connection.execute("VACUUM")


def publish_tables(source: Path, target: Path) -> None:
    """Copy the joined tables of a run, including those of studies, without private columns."""
    for path in [source / f"{name}.csv" for name in TABLES] + sorted(source.glob("studies/*.csv")):
        table = pd.read_csv(path, dtype="str", keep_default_na=False)
        kept = table.drop(columns=[name for name in PRIVATE if name in table.columns])
        write_csv(target / path.relative_to(source), kept)


def publish_points(source: Path, target: Path) -> None:
    """Copy the measured points of studies without what names a machine."""
    for path in sorted(source.glob("*/*.json")):
        point = json.loads(path.read_text(encoding="utf-8"))
        kept = {k: v for k, v in point["environment"].items() if k not in PRIVATE}
        write_json(target / path.relative_to(source), point | {"environment": kept})


def with_header(report: str, command: str) -> str:
    """The report with the command that made it inserted below its title."""
    title, rest = report.split("\n", 1)
    return f"{title}\n\nMade by `{command}`.\n{rest}"


def publish(report: Path, results: Path, target: Path, command: str) -> None:
    """Write report.md, figures/, tables/, studies/ and plan.csv under `target`.

    Links in the report are relative to it.
    """
    text = report.read_text(encoding="utf-8")
    local = re.sub(r"\(results/[^()\s]*?/figures/", "(figures/", text)
    write_text(target / "report.md", with_header(local, command))
    for figure in sorted(results.glob("figures/*.svg")):
        write_text(target / "figures" / figure.name, figure.read_text(encoding="utf-8"))
    publish_tables(results / "tables", target / "tables")
    publish_points(results / "studies", target / "studies")
    write_text(target / "plan.csv", (results / "plan.csv").read_text(encoding="utf-8"))


def main() -> None:
    """Publish a run, or clean one nsys export."""
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    run = kinds.add_parser("run", help="report, figures, tables and plan")
    run.add_argument("--report", type=Path, default=Path("report.md"))
    run.add_argument("--results", type=Path, required=True, help="results/{tag}")
    run.add_argument("--output", type=Path, required=True, help="folder")
    run.add_argument("--command", required=True, help="the command that made the run")
    one = kinds.add_parser("export", help="one nsys SQLite export")
    one.add_argument("source", type=Path)
    one.add_argument("target", type=Path)
    given = parser.parse_args()
    if given.kind == "run":
        publish(given.report, given.results, given.output, given.command)
    else:
        clean_export(given.source, given.target)


if __name__ == "__main__":
    main()
