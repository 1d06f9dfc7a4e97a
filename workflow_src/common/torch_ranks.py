"""Which rank of a distributed job a trace of torch.profiler is of, and which traces are of one job.

The trace says so before its events: "distributedInfo": {"rank": 0, "world_size": 2, ...}.
"""

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HEAD = 2**18
"""Bytes that are looked at; there are a few thousand before the events."""

INFO = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{.*?"distributedInfo"\s*:\s*(?=\{)', re.DOTALL)
GZIP = 31
"""The window of zlib that takes gzip's format."""


@dataclass(frozen=True)
class Rank:
    """A rank, from 0, of a job of several."""

    number: int
    world_size: int


def rank_of(path: Path) -> Rank | None:
    """The rank that a trace, compressed or not, is of; None for a file or folder without one.

    Also for what can't be read, which its reader says.
    """
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return None
    if head.startswith(b"\x1f\x8b"):
        try:
            head = zlib.decompressobj(GZIP).decompress(head, HEAD)
        except zlib.error:
            return None
    return _rank(head)


def _rank(head: bytes) -> Rank | None:
    begin = INFO.match(head)
    if not begin:
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(head[begin.end() :].decode("utf-8", "replace"))
    except ValueError:
        return None
    number, size = found.get("rank"), found.get("world_size")
    valid = type(number) is int and type(size) is int and 0 <= number < size and size > 1
    return Rank(number, size) if valid else None


def jobs(paths: Sequence[Path]) -> list[tuple[Path, ...]]:
    """The files of each capture: one or, in order, all that are of different ranks of one job.

    Files are of one job if they say the same number of ranks, and none the same rank.
    """
    ranks = {path: rank for path in paths if (rank := rank_of(path))}
    by_size: dict[int, list[Path]] = {}
    for path in sorted(ranks, key=lambda path: ranks[path].number):
        by_size.setdefault(ranks[path].world_size, []).append(path)
    job_of: dict[Path, tuple[Path, ...]] = {}
    for some in by_size.values():
        if len({ranks[path].number for path in some}) == len(some):
            job_of |= dict.fromkeys(some, tuple(some))
    return list(dict.fromkeys(job_of.get(path, (path,)) for path in paths))
