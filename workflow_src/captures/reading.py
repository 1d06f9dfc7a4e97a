"""Reads any capture: an export of nsys or traces of torch.profiler, compressed or not."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from workflow_src.captures import nsys
from workflow_src.captures.capture import Capture, card_of_trace
from workflow_src.captures.files import AGAIN, GIVE, database, is_sqlite
from workflow_src.captures.store import Store, opened
from workflow_src.common.errors import ADVICE, TraceError
from workflow_src.common.nsys_folder import table_files
from workflow_src.common.reading import reading


def read(path: Path) -> Capture:
    """The capture in a file or folder. Raises TraceError, which names it, if it can't be read."""
    try:
        with reading(path, "a capture that can be read", f"{AGAIN}, or {GIVE}", TraceError):
            return _read(path)
    except OSError as error:
        if error.errno in ADVICE:
            raise
        raise TraceError(f"{path}: it can't be read ({error.strerror}); {GIVE}") from error
    except TraceError as error:
        said = str(error)
        raise TraceError(said if said.startswith(str(path)) else f"{path}: {said}") from error


def _read(path: Path) -> Capture:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise TraceError(f"it is neither a file nor a folder, as a pipe isn't; {GIVE}")
    if path.is_dir() or is_sqlite(path):
        with _stored(path) as store:
            found = nsys.read(store)
    else:
        # Imported for such a trace alone, as its reader of JSON takes a while to import.
        from workflow_src.captures import torch_profiler

        found = torch_profiler.read(path)
        found = replace(found, recording=replace(found.recording, card=card_of_trace(path)))
    if not len(found.ranges) and not len(found.work) and not found.recording.launches:
        raise TraceError(
            "it holds neither a range nor any work of a device; record some: "
            "nsys profile -t cuda,nvtx"
        )
    return found


@contextmanager
def _stored(path: Path) -> Iterator[Store]:
    """The tables of an nsys export: an SQLite file, or a folder of Arrow or Parquet files.

    Raises TraceError for another folder, or if pyarrow isn't there for such a one.
    """
    if not path.is_dir():
        with database(path) as plain, opened(plain) as store:
            yield store
        return
    if not (files := table_files(path)):
        raise TraceError(
            f"the folder holds no table that nsys exported; for its files: {path}/*; {GIVE}"
        )
    try:
        from workflow_src.captures import arrow_store
    except ImportError as error:
        raise TraceError(
            "a folder that nsys exported is read by pyarrow: pip install pyarrow"
        ) from error
    yield arrow_store.folder(files)
