"""Export a report of nsys, which is only read, as SQLite with the nsys on the PATH."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from workflow_src.captures.store import NOT_EXPORTED
from workflow_src.common import nsys_cli
from workflow_src.common.arguments import Parser, any_path, new_file
from workflow_src.common.atomic_write import write_whole
from workflow_src.common.errors import TraceError, one_sentence

SUFFIX = ".nsys-rep"
ADVICE = "use the nsys that made it or a newer one, or give what that exports as SQLite"


def export(capture: Path, database: Path) -> None:
    """Write the SQLite of a report, whole or not at all.

    Raises TraceError if it isn't one by name, or nsys fails.
    """
    if not (capture.is_file() and os.access(capture, os.R_OK)):
        raise TraceError(f"{capture} is no file that can be read; copy it again")
    if capture.suffix != SUFFIX or not capture.stat().st_size:
        raise TraceError(
            f"{capture} is no report of nsys: its name ends in {SUFFIX}, and it isn't empty"
        )
    try:
        write_whole(database, lambda partial: nsys_cli.export_sqlite(capture.resolve(), partial))
    except TraceError as error:
        # What follows is advice for captures of this project, which can be made again.
        reason, _, _ = str(error).partition("; ")
        raise TraceError(f"{capture}: {reason}; {ADVICE}") from error


def note_problem(database: Path, why: str) -> None:
    """Write a database that says why there is no export, which its readers then say."""

    def write(partial: Path) -> None:
        with closing(sqlite3.connect(partial)) as connection, connection:
            connection.execute(f"CREATE TABLE {NOT_EXPORTED} AS SELECT ? AS why", (why,))

    write_whole(database, write)


def main(arguments: Sequence[str] | None = None) -> None:
    """Export one report."""
    parser = Parser(prog="workflow_src.captures.export", description=__doc__)
    parser.add_argument("--capture", type=any_path, required=True, help=".nsys-rep")
    parser.add_argument("--output", type=new_file, required=True, help=".sqlite")
    parser.add_argument(
        "--note-problem", action="store_true", help="write why it can't be, and don't fail"
    )
    given = parser.parse_args(arguments)
    with one_sentence():
        try:
            export(given.capture, given.output)
        except TraceError as error:
            if not given.note_problem:
                raise
            note_problem(given.output, str(error))


if __name__ == "__main__":
    main()
