"""What a file of a capture holds, compressed or not, and how much memory reading it may take.

A file of a megabyte can hold a gigabyte.
"""

import argparse
import gzip
import json
import math
import re
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from workflow_src.common.arguments import positive
from workflow_src.common.errors import TraceError
from workflow_src.common.own_memory import at_most_bytes, available_bytes
from workflow_src.common.units import GIB

GZIP, SQLITE = b"\x1f\x8b", b"SQLite format 3\0"
BLOCK, HEAD = 2**22, 2**18
"""Bytes that are read of a file at a time, and of its beginning: a few thousand come before a
trace's events."""

BROKEN_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)

GIVE = (
    "give an SQLite export of nsys (nsys export --type sqlite), or a trace that torch.profiler "
    "exported"
)
AGAIN = "export or copy it again"
SHARE = 0.5
"""Of the available memory, where no limit is given: captures are read beside each other."""


def is_sqlite(path: Path) -> bool:
    """Whether a file, gzipped or not, is an SQLite database. Raises TraceError if it is empty."""
    begin = next(filter(None, blocks(path, len(SQLITE))), b"")
    if not begin:
        raise TraceError(f"the file is empty; {AGAIN}")
    return begin.startswith(SQLITE)


def head(path: Path) -> bytes:
    """The first bytes of what is in a file, as far as they can be read; b"" of anything else."""
    with suppress(OSError, *BROKEN_GZIP, TraceError):
        return next(filter(None, blocks(path, HEAD)), b"") if path.is_file() else b""
    return b""


def value_after(where: re.Pattern[bytes], text: bytes) -> Any:
    """The JSON value that follows a pattern in some text; None without one that is whole."""
    if not (begin := where.search(text)):
        return None
    try:
        return json.JSONDecoder().raw_decode(text[begin.end() :].decode(errors="replace"))[0]
    except (ValueError, RecursionError):
        return None


def blocks(path: Path, most: int = BLOCK) -> Iterator[bytes]:
    """A file's bytes, decompressed, in parts. Raises one of BROKEN_GZIP after what can be read."""
    part = bytearray()
    with cast(BufferedReader, gzip.open(path)) if _is_packed(path) else path.open("rb") as file:
        try:
            while piece := file.read1(most - len(part)):
                part += piece
                if len(part) == most:
                    yield bytes(part)
                    part.clear()
        except BROKEN_GZIP:
            yield bytes(part)
            raise
        yield bytes(part)


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(GZIP)) == GZIP


@contextmanager
def database(path: Path) -> Iterator[Path]:
    """An SQLite file, decompressed elsewhere for as long as needed if it is compressed."""
    if not _is_packed(path):
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as file:
        with Path(file.name).open("wb") as target:
            target.writelines(blocks(path))
        yield Path(file.name)


def add_limit(parser: argparse.ArgumentParser) -> None:
    """Add the argument of the limit."""
    parser.add_argument(
        "--memory-gib", metavar="GIB", type=positive,
        help="most memory that reading it may take; without it half of what is available",
    )  # fmt: skip


@contextmanager
def within_limit(given: argparse.Namespace) -> Iterator[None]:
    """Keep to the limit given as an argument. Raises TraceError where memory doesn't suffice.

    On Linux alone: other systems don't say how much there is.
    """
    known = Path("/proc/meminfo").is_file()
    memory_gib = given.memory_gib or (SHARE * available_bytes() / GIB if known else math.inf)
    try:
        with at_most_bytes(int(memory_gib * GIB)) if known else nullcontext():
            yield
    except MemoryError:
        names = ", ".join(map(str, given.capture))
        raise TraceError(
            f"{names}: reading it takes more than {memory_gib:.3g} GiB of memory; capture fewer "
            "steps, or allow more where there is more: --config capture_memory_gib=... "
            "(--memory-gib by hand)"
        ) from None
