"""How long the processes of one capture wait for each other inside of collectives.

Processes that communicate, all of a program or a group of them, call the same collectives in the
same order, each group in a stream of its own, and one call's kernels end together, when the last
process has come. Those of a broadcast need not: its sender may be done before another process has
begun. What a kernel takes longer than the shortest one of its call, it waited. Nothing is told
unless all kernels fit that, or all of the time that every process recorded: windows of traces of
single ranks begin and end at their own moments.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import KERNEL
from workflow_src.captures.torch_ranks import ONE_WAY, TOGETHER_NS
from workflow_src.common.intervals import Indices

COLLECTIVE = "communication"
"""The family of kernels that communicate."""

POINT_TO_POINT = "SendRecv"
"""Found in names of kernels that not all processes run together."""


@dataclass(frozen=True)
class Waits:
    """The time (ns) that each activity waited; `known`: whether that could be told of collectives.

    unmatched: how many collectives' kernels could not be matched.
    """

    ns: Indices
    known: bool
    unmatched: int


@dataclass(frozen=True)
class _Stream:
    """The collectives of one stream in order: row numbers, names, lengths and ends (ns)."""

    process: int
    rows: Indices
    names: tuple[str, ...]
    length: Indices
    end: Indices

    @classmethod
    def of(cls, found: pd.DataFrame) -> "_Stream":
        columns = (found[name].to_numpy() for name in ("duration_ns", "end_ns"))
        return cls(
            int(found["process"].iloc[0]), found.index.to_numpy(), tuple(found["name"]), *columns
        )

    def joins(self, group: Sequence["_Stream"]) -> bool:
        """Whether it calls the same collectives as streams of other processes, ending together."""
        if self.names != group[0].names or self.process in [each.process for each in group]:
            return False
        both = (*group, self)
        shortest = np.min([each.length for each in both], axis=0)
        fits = np.ptp([each.end for each in both], axis=0) <= shortest
        return bool(fits[ends_together(self.names)].all())


def waits(work: pd.DataFrame) -> Waits:
    """How long each activity (with `family`) waited for other processes, all in one capture."""
    none = np.zeros(len(work), dtype=np.int64)
    found = collectives(work) if work["process"].nunique() > 1 else work[:0]
    if found["process"].nunique() < 2:
        return Waits(none, False, 0)
    # Windows that open between steps hold the launches of the same ones, whatever still ran then.
    launched_inside = found[found["missing"] == ""]
    for kernels in (found, launched_inside, _in_all_windows(found)):
        groups = _groups(kernels.sort_values(["start_ns", "end_ns"]))
        if groups and all(len(group) > 1 for group in groups):
            return Waits(_waited(groups, none), True, len(found) - len(kernels))
    return Waits(none, False, len(found))


def _in_all_windows(found: pd.DataFrame) -> pd.DataFrame:
    """The kernels that end while each process has ended its first one and not yet its last one."""
    ends = found["end_ns"]
    of_process = ends.groupby(found["process"])
    begin, end = int(of_process.min().max()), int(of_process.max().min())
    return found[ends.between(begin - TOGETHER_NS, end + TOGETHER_NS)]


def _waited(groups: Sequence[Sequence["_Stream"]], none: Indices) -> Indices:
    """How long each activity waited, in groups of streams that call the same collectives."""
    waited = none.copy()
    for group in groups:
        shortest = np.min([each.length for each in group], axis=0)
        for each in group:
            waited[each.rows] = each.length - shortest
    return waited


def ends_together(names: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which collectives end in all processes at once; all of them where none has to."""
    both_ways = np.array([not ONE_WAY.search(name) for name in names], dtype=bool)
    return both_ways if both_ways.any() else ~both_ways


def collectives(work: pd.DataFrame) -> pd.DataFrame:
    """The kernels (with `family`) that all processes run together."""
    found = work[(work["family"] == COLLECTIVE) & (work["kind"] == KERNEL)]
    return found[~found["name"].str.contains(POINT_TO_POINT, regex=False).astype(bool)]


def _groups(found: pd.DataFrame) -> list[list[_Stream]]:
    """The streams that communicate with each other, in the order of their first kernels."""
    groups: list[list[_Stream]] = []
    for _, rows in found.groupby(["process", "device", "stream"], sort=False):
        stream = _Stream.of(rows)
        fitting = (group for group in groups if stream.joins(group))
        group = next(fitting, None)
        if group is None:
            groups.append(group := [])
        group.append(stream)
    return groups
