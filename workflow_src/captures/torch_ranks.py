"""Which rank of a distributed job a trace of torch.profiler is of, and which traces are of one job.

The trace says its rank before its events: "distributedInfo": {"rank": 0, "world_size": 2, ...}.
That two ranks are of one job only their events show: they overlap in time or, as clocks of hosts
differ, call the same collectives, which end together. The beginnings of files mostly tell that, so
that whole files are read only where they don't: this runs whenever rules are made.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TypeVar

from workflow_src.captures.events import events_of
from workflow_src.captures.files import blocks, head, value_after
from workflow_src.common.capture_names import names_of
from workflow_src.common.errors import TraceError
from workflow_src.common.units import NS_PER_US

INFO = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{.*?"distributedInfo"\s*:\s*(?=\{)', re.DOTALL)
BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(?=\d)')
"""What times are counted from: of one job the same."""

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

T = TypeVar("T")
Collectives = list[tuple[float, str]]
"""The end (us) and name of each, in order of time."""


@dataclass(frozen=True)
class Rank:
    """A rank, from 0, of a job of several; base: what its times are counted from."""

    number: int
    world_size: int
    base: object = None


@dataclass(frozen=True)
class Job:
    """The files of one capture, in order of rank; apart: whether another one may be of its job."""

    files: tuple[Path, ...]
    apart: bool = False


def rank_of(path: Path) -> Rank | None:
    """The rank that a trace, compressed or not, is of; None for a file without one.

    Also for what can't be read, which its reader says.
    """
    begin = head(path)
    found = value_after(INFO, begin)
    if not found:
        return None
    number, size = found.get("rank"), found.get("world_size")
    valid = type(number) is int and type(size) is int and 0 <= number < size and size > 1
    return Rank(number, size, value_after(BASE, begin)) if valid else None


def jobs(paths: Sequence[Path]) -> list[Job]:
    """The captures in some files: one file, or all that are of different ranks of one job.

    Such files say the same number of ranks, none the same rank, and are tied by evidence.
    """
    ranks = {path: rank for path in paths if (rank := rank_of(path))}
    in_order = sorted(ranks, key=lambda path: ranks[path].number)
    job_of: dict[Path, Job] = {}
    tied = _evidence(ranks)
    for size in {rank.world_size for rank in ranks.values()}:
        some = [path for path in in_order if ranks[path].world_size == size]
        if ranks[some[0]].number == ranks[some[-1]].number:
            continue
        # By their beginnings, if possible.
        for group in grouped(some, partial(tied, False), partial(tied, True)):
            distinct = len({ranks[path].number for path in group}) == len(group)
            for files in [group] if distinct else [[path] for path in group]:
                job_of |= dict.fromkeys(files, Job(tuple(files), apart=len(files) == 1))
    return list(dict.fromkeys(job_of.get(path, Job((path,))) for path in paths))


def named_jobs(files: Sequence[str]) -> dict[str, Job]:
    """The captures in some files, by name: of several files the first one's.

    Raises ConfigError if two would have one name.
    """
    names = {Path(file): name for file, name in names_of(files).items()}
    found = {}
    for job in jobs([*names]):
        more = f"-and-{len(job.files) - 1}-more" if job.files[1:] else ""
        found[names[job.files[0]] + more] = job
    return found


def grouped(items: Iterable[T], *fits: Callable[[T, list[T]], bool]) -> list[list[T]]:
    """Items in groups: each joins the first that it fits, by the first test that it fits any by."""
    groups = list[list[T]]()
    for item in items:
        fitting = (group for fit in fits for group in groups if fit(item, group))
        if (group := next(fitting, None)) is None:
            groups.append(group := [])
        group.append(item)
    return groups


def _evidence(ranks: dict[Path, Rank]) -> Callable[[bool, Path, list[Path]], bool]:
    """What tells, by whole files or their beginnings, whether one is of the job of others."""

    @cache
    def seen(path: Path, whole: bool) -> tuple[float, float, Collectives]:
        return _seen(blocks(path) if whole else islice(blocks(path), BEGINNING))

    def tied(one: Path, other: Path, whole: bool) -> bool:
        (first, last, made), (begin, end, theirs) = seen(one, whole), seen(other, whole)
        overlap = ranks[one].base == ranks[other].base and begin < last and first < end
        return overlap or (whole and _end_together(made, theirs))

    return lambda whole, path, group: any(tied(other, path, whole) for other in group)


def _seen(parts: Iterable[bytes]) -> tuple[float, float, Collectives]:
    """When a trace's events begin and end (us), and its collectives, as far as it can be read."""
    first, last, collectives = float("inf"), float("-inf"), Collectives()
    with suppress(TraceError, OSError):
        for event in (e for events in events_of(parts, Counter()) for e in events if e.ph == "X"):
            with suppress(ValueError):
                begin, length = float(bytes(event.ts)), float(bytes(event.dur))
                first, last = min(first, begin), max(last, begin + length)
                if event.cat == "kernel" and COLLECTIVE.search(str(event.name)):
                    collectives.append((begin + length, str(event.name)))
    return first, last, sorted(collectives)


def _end_together(one: Collectives, other: Collectives) -> bool:
    """Whether both call the same collectives, which end together but for what clocks differ."""
    if [name for _, name in one] != [name for _, name in other]:
        return False
    both = zip(one, other, strict=True)
    ahead = [theirs[0] - own[0] for own, theirs in both if not ONE_WAY.search(own[1])]
    if len(ahead) < FEWEST:
        return False
    usual = median(ahead)
    return median(abs(each - usual) for each in ahead) <= TOGETHER_NS / NS_PER_US
