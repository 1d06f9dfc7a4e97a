"""Export one capture into a folder: trace.sqlite and, for nsys, the CSVs of `nsys stats`."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd

from workflow_src.common import nsys_cli
from workflow_src.common.arguments import Parser, existing_file, new_folder
from workflow_src.common.atomic_write import partial_folder
from workflow_src.common.errors import TraceError, one_sentence, remake
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.reading import reading
from workflow_src.traces import kineto, nsys
from workflow_src.traces.trace import CALL_COLUMNS, Trace, no_rows

DATABASE = nsys_cli.DATABASE
OWN_TABLE = "trace"


def write_trace(trace: Trace, database: Path) -> None:
    """Write a trace as SQLite in this project's own format: tables trace, ranges, activities,
    calls."""
    about = pd.DataFrame(
        {"profiler": [trace.profiler], "profiler_version": [trace.profiler_version]}
    )
    with (
        reading(database, "written", "free some space and run again", TraceError),
        closing(sqlite3.connect(database)) as connection,
    ):
        about.to_sql(OWN_TABLE, connection, index=False)
        trace.ranges.to_sql("ranges", connection, index=False)
        trace.activities.to_sql("activities", connection, index=False)
        trace.calls.to_sql("calls", connection, index=False)


def _read_own(connection: sqlite3.Connection) -> Trace:
    about, ranges, activities = (
        pd.read_sql_query(f"SELECT * FROM {table}", connection)
        for table in (OWN_TABLE, "ranges", "activities")
    )
    calls = no_rows(CALL_COLUMNS)
    if _holds(connection, "calls"):
        calls = pd.read_sql_query("SELECT * FROM calls", connection)
    else:  # Written before calls were kept.
        activities = activities.assign(launch_end_ns=NOWHERE)
    return Trace.of(about["profiler"][0], about["profiler_version"][0], ranges, activities, calls)


def _holds(connection: sqlite3.Connection, table: str) -> bool:
    query = "SELECT count(*) FROM sqlite_master WHERE name = ?"
    return bool(connection.execute(query, (table,)).fetchone()[0])


def read_trace(folder: Path) -> Trace:
    """The Trace in an exported folder, from either profiler. Raises TraceError."""
    database = folder / DATABASE
    with (
        reading(database, "a readable export", remake(folder), TraceError),
        closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection,
    ):
        if _holds(connection, OWN_TABLE):
            return _read_own(connection)
    return nsys.read(database)


def export(capture: Path, folder: Path, os_tracing: bool) -> None:
    """Export `capture` into `folder`, which appears complete or not at all.

    Raises TraceError, also if the folder holds anything but an earlier export.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / DATABASE).exists():
        raise TraceError(f"{folder} is not an export and would be replaced; give another folder")
    with partial_folder(folder) as parent:
        partial = parent / folder.name
        partial.mkdir()
        if capture.suffix == ".nsys-rep":
            nsys_cli.export(capture, partial, os_tracing)
        else:
            write_trace(kineto.read(capture), partial / DATABASE)
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)


def main() -> None:
    """Export one capture."""
    parser = Parser(description=__doc__)
    parser.add_argument("--capture", type=existing_file, required=True)
    parser.add_argument("--output", type=new_folder, required=True, help="the folder to make")
    parser.add_argument("--os-tracing", action="store_true", help="the capture holds OS calls")
    arguments = parser.parse_args()
    with one_sentence(arguments.capture.name):
        export(arguments.capture, arguments.output, arguments.os_tracing)


if __name__ == "__main__":
    main()
