"""What a file of a capture holds, compressed or not, and how much reading it may take.

A file of a megabyte can hold a gigabyte. Beyond a limit, of what it unpacks to or of memory,
reading ends in a sentence of its own.
"""

import argparse
import codecs
import errno
import gzip
import json
import math
import re
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from workflow_src.common.arguments import positive
from workflow_src.common.errors import TraceError
from workflow_src.common.own_memory import at_most_bytes, available_bytes
from workflow_src.common.units import GIB

GZIP, SQLITE = b"\x1f\x8b", b"SQLite format 3\0"
BLOCK, HEAD = 2**22, 2**18
"""Bytes that are read of a file at a time, and of its beginning, where a few thousand come before a
trace's events."""

BROKEN_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)
"""What is raised where compressed data is cut off or damaged."""

OTHERWISE = {
    GZIP: "gzip twice",
    b"PK\3\4": "zip",
    b"\xfd7zXZ\0": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "Zstandard",
}
"""How a file is compressed that isn't read, by its first bytes, gzip alone taken off."""

GIVE = (
    "give an SQLite export of nsys (nsys export --type sqlite), or a trace that torch.profiler "
    "exported"
)
UNPACKED, UNPACKED_OPTION = "capture_unpacked_gib", "unpacked-gib"
UNPACKED_BYTES: ContextVar[float] = ContextVar(UNPACKED, default=16.0 * GIB)
"""The most that a compressed capture may unpack to: set by `within_limits`, or its default."""

MEMORY, MEMORY_OPTION = "capture_memory_gib", "memory-gib"
SHARE = 0.5
"""Of the available memory, where no limit is given: captures are read beside each other."""

AGAIN = "export or copy it again"
"""What to do about a file of another kind, and about a damaged one."""


def is_sqlite(path: Path) -> bool:
    """Whether a file, compressed or not, is an SQLite database. Raises TraceError if it is empty.

    A report that nsys has not exported yet raises TraceError, too.
    """
    if path.suffix in (".nsys-rep", ".qdrep"):
        raise TraceError("this is a report: export it first, nsys export --type sqlite FILE")
    begin = next(filter(None, blocks(path, len(SQLITE))), b"")
    if not begin:
        raise TraceError(f"the file is empty; {AGAIN}")
    if how := next((how for start, how in OTHERWISE.items() if begin.startswith(start)), ""):
        raise TraceError(f"it is compressed by {how}, which isn't read: unpack it, or use gzip")
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
    """A file's bytes, decompressed, in parts of at most `most` bytes.

    Raises one of BROKEN_GZIP, after what can be read; TraceError beyond the limit.
    """
    packed, total, part, size = _is_packed(path), 0, list[bytes](), 0
    allowed = UNPACKED_BYTES.get() if packed else math.inf
    with cast(BufferedReader, gzip.open(path)) if packed else path.open("rb") as file:
        try:
            while piece := file.read1(most - size):
                total, size = total + len(piece), size + len(piece)
                if total > allowed:
                    raise TraceError(
                        f"it unpacks to more than {allowed / GIB:.3g} GiB; if that is right, allow "
                        f"more: --config {UNPACKED}=... (--{UNPACKED_OPTION} by hand)"
                    )
                part.append(piece)
                if size == most:
                    yield b"".join(part)
                    part, size = [], 0
        except BROKEN_GZIP:
            yield b"".join(part)
            raise
        yield b"".join(part)


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(GZIP)) == GZIP


def content(path: Path) -> tuple[str, bool]:
    """A file's text, decompressed; of damaged compressed data all up to the damage, and False."""
    decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
    parts: list[str] = []
    whole = True
    try:
        parts.extend(map(decode, blocks(path)))
    except BROKEN_GZIP:
        if not any(parts):
            raise
        whole = False
    return "".join([*parts, decode(b"", final=True)]), whole


@contextmanager
def database(path: Path) -> Iterator[Path]:
    """An SQLite file, decompressed elsewhere for as long as needed if it is compressed.

    Raises TraceError if there is too little room.
    """
    if not _is_packed(path):
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as file:
        try:
            for part in blocks(path):
                file.write(part)
            file.flush()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise TraceError(
                f"it can't be unpacked in {Path(file.name).parent} ({error.strerror}); free some "
                "space there, or set TMPDIR to a folder with more, or give it unpacked"
            ) from error
        yield Path(file.name)


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the limits to a parser."""
    parser.add_argument(
        f"--{UNPACKED_OPTION}", metavar="GIB", type=positive, default=UNPACKED_BYTES.get() / GIB,
        help="most that a compressed capture may unpack to (16)",
    )  # fmt: skip
    parser.add_argument(
        f"--{MEMORY_OPTION}", metavar="GIB", type=positive,
        help="most memory that reading it may take; without it half of what is available",
    )  # fmt: skip


@contextmanager
def within_limits(given: argparse.Namespace) -> Iterator[None]:
    """Keep to the limits given as arguments. Raises TraceError where memory doesn't suffice.

    On Linux alone memory is limited: other systems don't say how much there is.
    """
    known = Path("/proc/meminfo").is_file()
    memory_gib = given.memory_gib or (SHARE * available_bytes() / GIB if known else math.inf)
    token = UNPACKED_BYTES.set(given.unpacked_gib * GIB)
    try:
        with at_most_bytes(int(memory_gib * GIB)) if known else nullcontext():
            yield
    except MemoryError:
        names = ", ".join(map(str, given.capture))
        raise TraceError(
            f"{names}: reading it takes more than {memory_gib:.3g} GiB of memory; capture fewer "
            f"steps, or allow more where there is more: --config {MEMORY}=... (--{MEMORY_OPTION} "
            "by hand)"
        ) from None
    finally:
        UNPACKED_BYTES.reset(token)
