"""How long the processes of one capture wait for each other inside of collectives.

Processes that communicate, all of a program or a group of them, call the same collectives in the
same order, each group in a stream of its own, and one call's kernels end together, when the last
process has come. Those of a broadcast need not: its sender may be done before another process has
begun. What a kernel takes longer than the shortest one of its call, it waited. Nothing is told
unless all kernels fit that, or all of the time that every process recorded: windows of traces of
single ranks begin and end at their own moments.
"""

from collections.abc import Sequence

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


def waits(work: pd.DataFrame) -> tuple[Indices, bool, int]:
    """How long each activity (with `family`) waited for other processes (ns), all in one capture;
    whether that could be told of collectives; and how many of their kernels could not be matched.
    """
    waited = np.zeros(len(work), dtype=np.int64)
    found = collectives(work) if work["process"].nunique() > 1 else work[:0]
    if found["process"].nunique() < 2:
        return waited, False, 0
    # Windows that open between steps hold the launches of the same ones, whatever still ran then.
    launched_inside = found[found["missing"] == ""]
    for kernels in (found, launched_inside, _in_all_windows(found)):
        groups = _groups(kernels.sort_values(["start_ns", "end_ns"]))
        if groups and all(len(group) > 1 for group in groups):
            for group in groups:
                lengths = _of_each("duration_ns", group)
                for stream, length in zip(group, lengths, strict=True):
                    waited[stream.index] = length - lengths.min(axis=0)
            return waited, True, len(found) - len(kernels)
    return waited, False, len(found)


def _in_all_windows(found: pd.DataFrame) -> pd.DataFrame:
    """The kernels that end while each process has ended its first one and not yet its last one."""
    of_process = found["end_ns"].groupby(found["process"])
    begin, end = int(of_process.min().max()), int(of_process.max().min())
    return found[found["end_ns"].between(begin - TOGETHER_NS, end + TOGETHER_NS)]


def _groups(found: pd.DataFrame) -> list[list[pd.DataFrame]]:
    """The streams that communicate with each other, in the order of their first kernels."""
    groups: list[list[pd.DataFrame]] = []
    for _, stream in found.groupby(["process", "device", "stream"], sort=False):
        group = next((group for group in groups if _joins(stream, group)), None)
        if group is None:
            groups.append(group := [])
        group.append(stream)
    return groups


def _joins(stream: pd.DataFrame, group: Sequence[pd.DataFrame]) -> bool:
    """Whether it calls the same collectives as streams of other processes, ending together."""
    names, others = stream["name"].tolist(), [each["process"].iloc[0] for each in group]
    if names != group[0]["name"].tolist() or stream["process"].iloc[0] in others:
        return False
    ends, lengths = (_of_each(name, [*group, stream]) for name in ("end_ns", "duration_ns"))
    fits = np.ptp(ends, axis=0) <= lengths.min(axis=0)
    return bool(fits[ends_together(names)].all())


def _of_each(name: str, streams: Sequence[pd.DataFrame]) -> Indices:
    """A column of some streams with as many kernels each: a row per stream."""
    return np.stack([each[name].to_numpy() for each in streams])


def ends_together(names: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which collectives end in all processes at once; all of them where none has to."""
    both_ways = np.array([not ONE_WAY.search(name) for name in names], dtype=bool)
    return both_ways if both_ways.any() else ~both_ways


def collectives(work: pd.DataFrame) -> pd.DataFrame:
    """The kernels (with `family`) that all processes run together."""
    found = work[(work["family"] == COLLECTIVE) & (work["kind"] == KERNEL)]
    return found[~found["name"].str.contains(POINT_TO_POINT, regex=False).astype(bool)]
