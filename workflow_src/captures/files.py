"""What kind of capture a file is, by its content; compressed or not."""

import codecs
import errno
import json
import re
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from workflow_src.common.errors import TraceError
from workflow_src.common.units import GIB

GZIP, SQLITE = b"\x1f\x8b", b"SQLite format 3\0"
CHUNK, BLOCK, HEAD = 2**16, 2**22, 2**18
"""Bytes that are read of a compressed file at a time, of what is in a file, and of its beginning,
where a few thousand come before a trace's events."""

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
"""The most that a compressed capture may unpack to: set by captures/limits.py, or its default."""

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
    with suppress(OSError, EOFError, zlib.error, TraceError):
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


def blocks(path: Path, most: int | None = None) -> Iterator[bytes]:
    """A file's bytes, decompressed, in parts of `most` bytes or, where compressed, at least that.

    Raises EOFError, after what can be read, if compressed data is cut off, and zlib.error if it is
    damaged; TraceError beyond the limit.
    """
    most = most or BLOCK
    if not _is_packed(path):
        with path.open("rb") as file:
            while block := file.read(most):
                yield block
        return
    allowed, total, part = UNPACKED_BYTES.get(), 0, bytearray()
    try:
        for piece in _pieces(path, most):
            total += len(piece)
            if total > allowed:
                raise TraceError(
                    f"it unpacks to more than {allowed / GIB:.3g} GiB; if that is right, allow "
                    f"more: --config {UNPACKED}=... (--{UNPACKED_OPTION} by hand)"
                )
            part += piece
            if len(part) >= most:
                yield bytes(part)
                part.clear()
    except (EOFError, zlib.error):
        yield bytes(part)
        raise
    yield bytes(part)


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(GZIP)) == GZIP


def _pieces(path: Path, most: int) -> Iterator[bytes]:
    """What a gzip file holds, by at most `most` bytes, whatever it unpacks to.

    It may have several members and, as gzip(1) says, zeros after them.
    """
    with path.open("rb") as file:
        packed = b""
        while packed := packed or file.read(CHUNK):
            packed = packed.lstrip(b"\0")
            inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
            while packed and not inflater.eof:
                while piece := inflater.decompress(packed, most):
                    yield piece
                    packed = inflater.unconsumed_tail
                packed = inflater.unused_data if inflater.eof else file.read(CHUNK)
                if not (packed or inflater.eof):
                    raise EOFError("its compressed data is cut off")


def content(path: Path) -> tuple[str, bool]:
    """A file's text, decompressed; of damaged compressed data all up to the damage, and False."""
    decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
    parts: list[str] = []
    whole = True
    try:
        parts.extend(map(decode, blocks(path)))
    except (EOFError, zlib.error):
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
