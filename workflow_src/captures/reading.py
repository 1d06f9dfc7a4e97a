"""Reads any capture: an SQLite export of nsys or a trace of torch.profiler, compressed or not."""

from pathlib import Path

from workflow_src.captures import nsys, torch_profiler
from workflow_src.captures.capture import Capture
from workflow_src.captures.exported import NotExportedError
from workflow_src.captures.files import database, is_sqlite
from workflow_src.common.errors import TraceError
from workflow_src.common.reading import reading

ADVICE = "give an SQLite export of nsys, or a trace that torch.profiler exported"


def read(path: Path) -> Capture:
    """The capture in a file. Raises TraceError, which names the file, if it can't be read."""
    try:
        with reading(path, "a capture that can be read", ADVICE, TraceError):
            return _read(path)
    except NotExportedError:
        raise
    except TraceError as error:
        said = str(error)
        raise TraceError(said if str(path) in said else f"{path}: {said}") from error


def _read(path: Path) -> Capture:
    if is_sqlite(path):
        with database(path) as plain:
            found = nsys.read(plain)
    else:
        found = torch_profiler.read(path)
    if not len(found.ranges) and not len(found.work):
        raise TraceError("it holds neither a range nor any work of a device")
    return found
