"""Which rank of a distributed job a trace of torch.profiler is of, and which traces are of one job.

The trace says its rank before its events: "distributedInfo": {"rank": 0, "world_size": 2, ...}.
That two ranks are of one job only their events show: they overlap in time or, as clocks of hosts
differ, call the same collectives, which end together. The beginnings of files mostly tell that, so
that whole files are read only where they don't: this runs whenever rules are made.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from statistics import median

from workflow_src.captures.events import NOT_IN_PARTS, in_parts
from workflow_src.captures.files import blocks
from workflow_src.common.errors import TraceError
from workflow_src.common.units import NS_PER_US

HEAD = 2**18
"""Bytes that are looked at; there are a few thousand before the events."""

INFO = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{.*?"distributedInfo"\s*:\s*(?=\{)', re.DOTALL)
BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(\d+)')
"""What times are counted from: of one job the same."""

GZIP = 31
"""The window of zlib that takes gzip's format."""

BEGINNING = 2
"""Blocks of a file that are read at first."""

COLLECTIVE = re.compile(r"(?i)nccl(?!.*SendRecv)")
"""Found in names of kernels that all ranks run together; RCCL's have NCCL's names."""

ONE_WAY = re.compile(r"_(?:Broadcast|Reduce)_")
"""Found in names of kernels that move data from one process, or to one, which needn't end together.
"""

TOGETHER_NS = 100_000
"""Kernels of one call end within this time of each other, by clocks of ranks made one: 40 us in
traces of two ranks on one host."""

FEWEST = 3
"""Collectives that end together, from which on that is no accident."""


@dataclass(frozen=True)
class Rank:
    """A rank, from 0, of a job of several; base: what its times are counted from."""

    number: int
    world_size: int
    base: bytes = b""


@dataclass(frozen=True)
class Job:
    """The files of one capture, in order of rank; apart: whether another one may be of its job."""

    files: tuple[Path, ...]
    apart: bool = False


@dataclass
class _Seen:
    """When a trace's events begin and end (us), and the end and name of each collective."""

    begin: float = float("inf")
    end: float = float("-inf")
    collectives: list[tuple[float, str]] = field(default_factory=list)


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
    base = BASE.search(head)
    return Rank(number, size, base[1] if base else b"") if valid else None


def jobs(paths: Sequence[Path]) -> list[Job]:
    """The captures in some files: one file, or all that are of different ranks of one job.

    Such files say the same number of ranks, none the same rank, and are tied by evidence.
    """
    ranks = {path: rank for path in paths if (rank := rank_of(path))}
    by_size: dict[int, list[Path]] = {}
    for path in sorted(ranks, key=lambda path: ranks[path].number):
        by_size.setdefault(ranks[path].world_size, []).append(path)
    job_of: dict[Path, Job] = {}
    for some in by_size.values():
        if ranks[some[0]].number != ranks[some[-1]].number:
            for group in _tied(some, _evidence(ranks)):
                distinct = len({ranks[path].number for path in group}) == len(group)
                for files in [group] if distinct else [[path] for path in group]:
                    job = Job(tuple(files), apart=len(files) == 1)
                    job_of |= dict.fromkeys(files, job)
    return list(dict.fromkeys(job_of.get(path, Job((path,))) for path in paths))


def _tied(paths: Iterable[Path], evidence: Callable[[Path, Path, bool], bool]) -> list[list[Path]]:
    """Files in groups, each tied to one before it in its group; if possible by their beginnings."""
    groups: list[list[Path]] = []
    for path in paths:
        fitting = (
            group
            for whole in (False, True)
            for group in groups
            if any(evidence(other, path, whole) for other in group)
        )
        if group := next(fitting, None):
            group.append(path)
        else:
            groups.append([path])
    return groups


def _evidence(ranks: dict[Path, Rank]) -> Callable[[Path, Path, bool], bool]:
    """What tells of two files, as a whole or by their beginnings, whether they are of one job."""

    @cache
    def seen(path: Path, whole: bool) -> _Seen:
        return _seen(blocks(path) if whole else islice(blocks(path), BEGINNING))

    def tied(one: Path, other: Path, whole: bool) -> bool:
        a, b = seen(one, whole), seen(other, whole)
        overlap = ranks[one].base == ranks[other].base and a.begin < b.end and b.begin < a.end
        return overlap or (whole and _end_together(a, b))

    return tied


def _seen(parts: Iterable[bytes]) -> _Seen:
    """What is seen in a trace, as far as it can be read."""
    found = _Seen()
    with suppress(*NOT_IN_PARTS, TraceError, OSError):
        for events in in_parts(parts):
            for event in events:
                if event.ph == "X":
                    with suppress(ValueError):
                        begin = float(bytes(event.ts))
                        end = begin + float(bytes(event.dur))
                        found.begin, found.end = min(found.begin, begin), max(found.end, end)
                        if event.cat == "kernel" and COLLECTIVE.search(str(event.name)):
                            found.collectives.append((end, str(event.name)))
    found.collectives.sort()
    return found


def _end_together(one: _Seen, other: _Seen) -> bool:
    """Whether both call the same collectives, which end together but for what clocks differ."""
    both = list(zip(one.collectives, other.collectives, strict=False))
    same = len(one.collectives) == len(other.collectives) and all(a[1] == b[1] for a, b in both)
    ahead = [b[0] - a[0] for a, b in both if not ONE_WAY.search(a[1])]
    if not same or len(ahead) < FEWEST:
        return False
    usual = median(ahead)
    return median(abs(each - usual) for each in ahead) <= TOGETHER_NS / NS_PER_US
