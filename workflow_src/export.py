"""Export one capture into a folder: trace.sqlite and, of nsys, the CSVs of `nsys stats`."""

import argparse
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pandas as pd

from workflow_src.profilers import kineto, nsys
from workflow_src.profilers.trace import Trace, TraceError

DATABASE = "trace.sqlite"
OWN_TABLE = "trace"


def write_trace(trace: Trace, database: Path) -> None:
    """Keep a trace in an SQLite file of this project's own: trace, ranges, activities."""
    about = pd.DataFrame(
        {"profiler": [trace.profiler], "profiler_version": [trace.profiler_version]}
    )
    with closing(sqlite3.connect(database)) as connection:
        about.to_sql(OWN_TABLE, connection, index=False)
        trace.ranges.to_sql("ranges", connection, index=False)
        trace.activities.to_sql("activities", connection, index=False)


def _read_own(connection: sqlite3.Connection) -> Trace:
    about, ranges, activities = (
        pd.read_sql_query(f"SELECT * FROM {table}", connection)
        for table in (OWN_TABLE, "ranges", "activities")
    )
    return Trace(about["profiler"][0], about["profiler_version"][0], ranges, activities)


def read_trace(folder: Path) -> Trace:
    """The Trace in an exported folder, whichever profiler took it. Raises TraceError."""
    database = folder / DATABASE
    query = "SELECT count(*) FROM sqlite_master WHERE name = ?"
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            if connection.execute(query, (OWN_TABLE,)).fetchone()[0]:
                return _read_own(connection)
    except (sqlite3.Error, pd.errors.DatabaseError, LookupError) as error:
        raise TraceError(f"{database} is not a readable export ({error}); export again") from error
    return nsys.read(database)


def export(capture: Path, folder: Path, os_tracing: bool) -> None:
    """Export `capture` into `folder`, which appears whole or not at all. Raises TraceError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".export-") as parent:
        partial = Path(parent, folder.name)
        partial.mkdir()
        if capture.suffix == ".nsys-rep":
            nsys.export(capture, partial, os_tracing)
        else:
            write_trace(kineto.read(capture), partial / DATABASE)
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)


def main() -> None:
    """Export one capture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--capture", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="the folder to make")
    parser.add_argument("--os-tracing", action="store_true", help="the capture holds OS calls")
    arguments = parser.parse_args()
    try:
        export(arguments.capture, arguments.output, arguments.os_tracing)
    except TraceError as error:
        sys.exit(f"{arguments.capture.name}: {error}")


if __name__ == "__main__":
    main()
