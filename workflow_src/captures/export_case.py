"""Export reports of nsys with the nsys on the PATH; and the captures of cases.

A case's export is a folder with a report's SQLite and the CSVs of `nsys stats`, or a copy of a
trace of torch.profiler.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from workflow_src.common import nsys_cli
from workflow_src.common.arguments import existing_file, new_folder, stage_arguments
from workflow_src.common.atomic_write import partial_folder, write_whole
from workflow_src.common.errors import TraceError, one_sentence
from workflow_src.common.nsys_cli import DATABASE, TRACE

SUFFIX, EXPORT = ".nsys-rep", "export.sqlite"
ADVICE = "use the nsys that made it or a newer one, or give what that exports as SQLite"


def exported(files: Sequence[Path], folder: Path) -> Sequence[Path]:
    """The files that a capture is read from: of a report of nsys, its SQLite in a folder, made
    again of a report of another time. Raises TraceError if nsys fails."""
    report, database = files[0], folder / EXPORT
    if report.suffix != SUFFIX:
        return files
    if not (report.is_file() and os.access(report, os.R_OK)):
        raise TraceError(f"{report} is no file that can be read; copy it again")
    made_ns = report.stat().st_mtime_ns
    if database.is_file() and database.stat().st_mtime_ns == made_ns:
        return [database]
    try:
        write_whole(database, lambda partial: nsys_cli.export_sqlite(report.resolve(), partial))
    except TraceError as error:
        # What follows is advice for captures of this project.
        reason, _, _ = str(error).partition("; ")
        raise TraceError(f"{report}: {reason}; {ADVICE}") from error
    os.utime(database, ns=(made_ns, made_ns))
    return [database]


def export(capture: Path, folder: Path) -> None:
    """Export `capture` into `folder`, which appears complete or not at all.

    Raises TraceError, also if the folder holds anything but an earlier export.
    """
    held = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    if held and not {DATABASE, TRACE} & set(held):
        raise TraceError(f"{folder} is not an export and would be replaced; give another folder")
    with partial_folder(folder) as parent:
        partial = parent / folder.name
        partial.mkdir()
        if capture.suffix == SUFFIX:
            nsys_cli.export(capture, partial)
        else:
            shutil.copyfile(capture, partial / TRACE)
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)


def main() -> None:
    """Export one capture."""
    given = stage_arguments(__doc__, capture=existing_file, output=new_folder)
    with one_sentence(given.capture.name):
        export(given.capture, given.output)


if __name__ == "__main__":
    main()
