"""Export a report of nsys, which is only read, as SQLite with the nsys on the PATH."""

import os
from collections.abc import Sequence
from pathlib import Path

from workflow_src.common import nsys_cli
from workflow_src.common.atomic_write import write_whole
from workflow_src.common.errors import TraceError

SUFFIX, DATABASE = ".nsys-rep", "export.sqlite"
ADVICE = "use the nsys that made it or a newer one, or give what that exports as SQLite"


def export(capture: Path, database: Path) -> None:
    """Write the SQLite of a report, whole or not at all. Raises TraceError if nsys fails."""
    if not (capture.is_file() and os.access(capture, os.R_OK) and capture.stat().st_size):
        raise TraceError(f"{capture} is empty, or no file that can be read; copy it again")
    try:
        write_whole(database, lambda partial: nsys_cli.export_sqlite(capture.resolve(), partial))
    except TraceError as error:
        # What follows is advice for captures of this project, which can be made again.
        reason, _, _ = str(error).partition("; ")
        raise TraceError(f"{capture}: {reason}; {ADVICE}") from error


def exported(files: Sequence[Path], folder: Path) -> Sequence[Path]:
    """The files that a capture is read from: of a report of nsys, its export in a folder.

    That is kept, as it takes long, and is made again of a report of another time. Raises TraceError
    as `export` does.
    """
    report, database = files[0], folder / DATABASE
    if report.suffix != SUFFIX:
        return files
    made_ns = report.stat().st_mtime_ns if report.is_file() else -1
    if not database.is_file() or database.stat().st_mtime_ns != made_ns:
        export(report, database)
        os.utime(database, ns=(made_ns, made_ns))
    return [database]
