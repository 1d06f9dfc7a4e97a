"""How long the processes of one capture wait for each other inside of collectives.

Processes of one program call the same collectives in the same order, and one call's kernels end
together, when the last process has come. What a kernel takes longer than the shortest one of its
call, it waited. Nothing is told unless all kernels fit that.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_src.captures.capture import KERNEL
from workflow_src.traces.intervals import Indices

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


def waits(work: pd.DataFrame) -> Waits:
    """How long each activity (with `family`) waited for other processes, all in one capture."""
    none = np.zeros(len(work), dtype=np.int64)
    found = collectives(work)
    if found["process"].nunique() < 2:
        return Waits(none, False, 0)
    calls = _calls(found.sort_values(["start_ns", "end_ns"]))
    if calls is None:
        return Waits(none, False, len(found))
    length, end = (work[name].to_numpy()[calls] for name in ("duration_ns", "end_ns"))
    shortest = length.min(axis=1, keepdims=True)
    if (np.ptp(end, axis=1) > shortest[:, 0]).any():
        return Waits(none, False, len(found))
    none[calls] = length - shortest
    return Waits(none, True, 0)


def collectives(work: pd.DataFrame) -> pd.DataFrame:
    """The kernels (with `family`) that all processes run together."""
    found = work[(work["family"] == COLLECTIVE) & (work["kind"] == KERNEL)]
    return found[~found["name"].str.contains(POINT_TO_POINT, regex=False).astype(bool)]


def _calls(found: pd.DataFrame) -> Indices | None:
    """The row numbers of each call's kernels, a column per process; None if they don't match.

    Streams are matched by the order of their first kernels, kernels by their order in a stream.
    """
    numbers = found.assign(row=found.index)
    processes = [
        [rows for _, rows in of_one.groupby(["device", "stream"], sort=False)]
        for _, of_one in numbers.groupby("process")
    ]
    names = [[rows["name"].tolist() for rows in streams] for streams in processes]
    if any(each != names[0] for each in names):
        return None
    columns = [np.concatenate([rows["row"].to_numpy() for rows in each]) for each in processes]
    return np.stack(columns, axis=1)
