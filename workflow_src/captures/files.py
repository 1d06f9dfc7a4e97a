"""What kind of capture a file is, by its content; compressed or not."""

import codecs
import errno
import json
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from workflow_src.common.errors import TraceError
from workflow_src.common.units import GIB

GZIP, SQLITE = b"\x1f\x8b", b"SQLite format 3\0"
CHUNK, BLOCK = 2**20, 2**22
GIVE = (
    "give an SQLite export of nsys (nsys export --type sqlite), or a trace that torch.profiler "
    "exported"
)
UNPACKED, UNPACKED_OPTION = "capture_unpacked_gib", "unpacked-gib"
UNPACKED_BYTES: ContextVar[float] = ContextVar(UNPACKED, default=16.0 * GIB)
"""The most that a compressed capture may unpack to: set by captures/limits.py, or its default."""

AGAIN = "export or copy it again"
"""What to do about a file of another kind, and about a damaged one."""


@dataclass(frozen=True)
class Content:
    """A file's text, decompressed; `whole` is false where compressed data end too early."""

    text: str
    whole: bool


def is_sqlite(path: Path) -> bool:
    """Whether a file, compressed or not, is an SQLite database. Raises TraceError if it is empty.

    A report that nsys has not exported yet, or as JSON lines, raises TraceError, too.
    """
    if path.suffix in (".nsys-rep", ".qdrep"):
        raise TraceError("this is a report: export it first, nsys export --type sqlite FILE")
    with path.open("rb") as file:
        head = file.read(len(SQLITE))
    if head.startswith(GZIP):
        head = next(filter(None, _decompressed(path, len(SQLITE))), b"")
    if not head:
        raise TraceError(f"the file is empty; {AGAIN}")
    if head.startswith((b"{", b"[")) and _has_json_lines(path):
        raise TraceError(f"it holds JSON lines, which aren't read; {GIVE}")
    return head.startswith(SQLITE)


def _has_json_lines(path: Path) -> bool:
    """Whether the first line is a JSON object that is no trace, and others follow."""
    try:
        line, _, rest = next(blocks(path)).partition(b"\n")
        found = json.loads(line)
    except (ValueError, RecursionError, EOFError, zlib.error):
        return False
    return isinstance(found, dict) and "traceEvents" not in found and rest.lstrip()[:1] == b"{"


def _decompressed(path: Path, most: int = BLOCK) -> Iterator[bytes]:
    """What a gzip file holds, in parts of at most `most` bytes, whatever it unpacks to.

    EOFError at the end of one that was cut off; TraceError beyond the limit.
    """
    allowed = UNPACKED_BYTES.get()
    total = 0
    with path.open("rb") as file:
        packed = file.read(CHUNK)
        while packed:
            inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
            while not inflater.eof:
                part = inflater.decompress(packed, most)
                if not (part or packed):
                    raise EOFError("its compressed data is cut off")
                total += len(part)
                if total > allowed:
                    raise TraceError(_too_large(allowed))
                yield part
                packed = b"" if inflater.eof else inflater.unconsumed_tail or file.read(CHUNK)
            packed = inflater.unused_data or file.read(CHUNK)


def _too_large(allowed: float) -> str:
    return (
        f"it unpacks to more than {allowed / GIB:.3g} GiB; if that is right, allow more: "
        f"--config {UNPACKED}=... (--{UNPACKED_OPTION} by hand)"
    )


def blocks(path: Path) -> Iterator[bytes]:
    """A file's bytes, decompressed, in parts. Raises EOFError or zlib.error if it is damaged."""
    with path.open("rb") as file:
        packed = file.read(2) == GZIP
        file.seek(0)
        if not packed:
            while block := file.read(BLOCK):
                yield block
    if packed:
        yield from _decompressed(path)


def content(path: Path) -> Content:
    """A file's text; of damaged compressed data, all up to the damage."""
    decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
    parts: list[str] = []
    whole = True
    try:
        parts.extend(map(decode, blocks(path)))
    except (EOFError, zlib.error):
        whole = False
    return Content("".join([*parts, decode(b"", final=True)]), whole)


@contextmanager
def database(path: Path) -> Iterator[Path]:
    """An SQLite file, decompressed elsewhere for as long as needed if it is compressed."""
    with path.open("rb") as file:
        packed = file.read(2) == GZIP
    if not packed:
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as plain:
        _unpack(path, Path(plain.name))
        yield Path(plain.name)


def _unpack(path: Path, plain: Path) -> None:
    """Decompress a file, and leave half of what is free there to others.

    Raises TraceError if that is too little.
    """
    left = shutil.disk_usage(plain.parent).free // 2
    try:
        with plain.open("wb") as file:
            for part in _decompressed(path):
                left -= len(part)
                if left < 0:
                    raise OSError(errno.ENOSPC, "half of what is free is too little")
                file.write(part)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise TraceError(
            f"it can't be unpacked in {plain.parent} ({error.strerror}); free some space there, or "
            "set TMPDIR to a folder with more, or give it unpacked"
        ) from error


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that only reads an SQLite file."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "backslashreplace")
        yield connection
