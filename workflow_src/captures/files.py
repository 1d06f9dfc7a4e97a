"""What kind of capture a file is, by its content; compressed or not."""

import json
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from workflow_src.common.errors import TraceError

GZIP, SQLITE = b"\x1f\x8b", b"SQLite format 3\0"
CHUNK, BLOCK = 2**20, 2**22
GIVE = (
    "give an SQLite export of nsys (nsys export --type sqlite), or a trace that torch.profiler "
    "exported"
)
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
        head = b"".join(_decompressed(path, len(SQLITE)))[: len(SQLITE)]
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


def _decompressed(path: Path, at_most: int = 0) -> Iterator[bytes]:
    """What a gzip file holds, in parts; EOFError at the end of one that was cut off."""
    with path.open("rb") as file:
        inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while chunk := file.read(CHUNK):
            yield (part := inflater.decompress(chunk, at_most))
            if at_most and part:
                return
            while inflater.eof and inflater.unused_data:
                rest, inflater = inflater.unused_data, zlib.decompressobj(zlib.MAX_WBITS | 16)
                yield inflater.decompress(rest)
        if not inflater.eof:
            raise EOFError("its compressed data is cut off")


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
    with path.open("rb") as file:
        if file.read(2) != GZIP:
            return Content(_text(path.read_bytes()), True)
    parts: list[bytes] = []
    try:
        parts.extend(_decompressed(path))
    except (EOFError, zlib.error):
        return Content(_text(b"".join(parts)), False)
    return Content(_text(b"".join(parts)), True)


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")


@contextmanager
def database(path: Path) -> Iterator[Path]:
    """An SQLite file, decompressed elsewhere for as long as needed if it is compressed."""
    with path.open("rb") as file:
        packed = file.read(2) == GZIP
    if not packed:
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as plain:
        for part in _decompressed(path):
            plain.write(part)
        plain.flush()
        yield Path(plain.name)


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that only reads an SQLite file."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "backslashreplace")
        yield connection
