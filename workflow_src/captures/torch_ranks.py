"""Which rank of a distributed job a trace of torch.profiler is of, and which traces are of one job.

The trace says its rank before its events: "distributedInfo": {"rank": 0, "world_size": 2, ...}.
Only beginnings of files are read, as this runs whenever rules are made.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from workflow_src.captures.files import head, value_after
from workflow_src.common.capture_names import names_of

INFO = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{.*?"distributedInfo"\s*:\s*(?=\{)', re.DOTALL)
BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(?=\d)')

TIME = re.compile(rb'"ts"\s*:\s*([1-9]\d*)')
"""Of an event, but for those that say 0, as some do that only name something."""

NEAR_NS = 10 * 10**9
"""Traces of one job begin within this time of each other: 15 ms on one host."""

T = TypeVar("T")


@dataclass(frozen=True)
class Rank:
    """A rank, from 0, of a job of several, and when the first events of its trace begin."""

    number: int
    world_size: int
    begin_ns: int


def rank_of(path: Path) -> Rank | None:
    """The rank that a trace, compressed or not, is of; None also for what can't be read, which its
    reader says."""
    begin = head(path)
    found = value_after(INFO, begin)
    if not found:
        return None
    number, size = found.get("rank"), found.get("world_size")
    valid = type(number) is int and type(size) is int and 0 <= number < size and size > 1
    times_us = [*map(int, TIME.findall(begin))]
    if not (valid and times_us):
        return None
    return Rank(number, size, (value_after(BASE, begin) or 0) + 1000 * min(times_us))


def jobs(paths: Sequence[Path]) -> list[tuple[Path, ...]]:
    """The captures in some files: one file, or all that are of different ranks of one job, which
    say the same number of ranks and begin within NEAR_NS, in order of rank."""
    ranks = {path: rank for path in paths if (rank := rank_of(path))}

    def joins(path: Path, group: list[Path]) -> bool:
        own, first = ranks[path], ranks[group[0]]
        near = own.world_size == first.world_size and own.begin_ns - first.begin_ns <= NEAR_NS
        return near and own.number not in {ranks[other].number for other in group}

    job_of = dict[Path, tuple[Path, ...]]()
    for group in grouped(sorted(ranks, key=lambda path: ranks[path].begin_ns), joins):
        job_of |= dict.fromkeys(group, (*sorted(group, key=lambda path: ranks[path].number),))
    return list(dict.fromkeys(job_of.get(path, (path,)) for path in paths))


def named_jobs(files: Sequence[str]) -> dict[str, tuple[Path, ...]]:
    """The captures in some files, by name: of several files the first one's.

    Raises ConfigError if two would have one name.
    """
    names = {Path(file): name for file, name in names_of(files).items()}
    found = {}
    for job in jobs([*names]):
        more = f"-and-{len(job) - 1}-more" if job[1:] else ""
        found[names[job[0]] + more] = job
    return found


def grouped(items: Iterable[T], fits: Callable[[T, list[T]], bool]) -> list[list[T]]:
    """Items in groups: each joins the first that it fits."""
    groups = list[list[T]]()
    for item in items:
        if (group := next((group for group in groups if fits(item, group)), None)) is None:
            groups.append(group := [])
        group.append(item)
    return groups
