"""A subject's device work in the order in which each lane runs it: neighbors, runs, fusion."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.edit import Edit, Edits, merged
from workflow_src.diagnosis.facts import LARGE
from workflow_src.diagnosis.finding import NUMBER, Found, Subject, rows_of

MAIN_SHARE = 0.25
"""The innermost place that takes this share of a mechanism's device time names it."""


def in_lanes(subject: Subject) -> pd.DataFrame:
    """Subject.work lane by lane in order of start; `breaks` where the host was long in between.

    breaks: also where a lane begins. A long gap is one of another cause than launching.
    """
    work = subject.work.sort_values(["lane", "start_ns"], kind="stable")
    gaps = subject.recording.calls["gap_ns"]
    long = gaps > LARGE * gaps.median()
    breaks = long.to_numpy()[work["call"]]
    lane = work["lane"].to_numpy()
    breaks[1:] |= lane[1:] != lane[:-1]
    return work.assign(breaks=breaks)


def runs(members: npt.NDArray[np.bool_], breaks: npt.NDArray[np.bool_]) -> Indices:
    """The number of the run of neighboring members that each row is in, NOWHERE for others."""
    begins = members & (breaks | ~np.append(False, members[:-1]))
    return np.where(members, np.cumsum(begins) - 1, NOWHERE)


def fused(subject: Subject, work: pd.DataFrame, group: Indices, duration_ns: Indices) -> Edits:
    """The changes by which each group of some work is one kernel of duration_ns (of each group).

    Launches are merged as well, but for calls that launch more than one activity, such as graphs.
    """
    alone = ~work["call"].duplicated(keep=False).to_numpy()
    mixed = np.isin(group, group[~alone])
    sums = np.bincount(group, work["device_ns"], len(duration_ns))
    factor = (duration_ns / np.maximum(sums, 1))[group]
    changes: list[Edit] = []
    if mixed.any():
        changes.append(Edit(work=rows_of(work)[mixed], factor=factor[mixed]))
    if not mixed.all():
        calls = work["call"].to_numpy()[~mixed]
        changes += merged(subject.recording, calls, group[~mixed], duration_ns)
    return tuple(changes)


def of_work(subject: Subject, work: pd.DataFrame, *changes: Edit, host_ns: float = 0) -> Found:
    """Some of Subject.work as one place, which its changes do without."""
    device_ns = work["device_ns"].sum()
    return subject.found(main_place(work), len(work), changes, host_ns, device_ns)


def main_place(work: pd.DataFrame) -> str:
    """The innermost place that takes much of the time of some work, the first such one, as a path.

    Paths that differ in numbers alone, such as those of layers, are one place, with * for them,
    unless all of its work has the same.
    """
    place = work["path_text"].str.replace(NUMBER, "*", regex=True)
    sums = work["device_ns"].groupby(place, sort=False).sum()
    share = sums / max(work["device_ns"].sum(), 1)
    likely = share[share >= min(MAIN_SHARE, share.max())]
    depths = pd.Series([str(path).count("/") for path in likely.index], index=likely.index)
    name = str(depths.idxmax())
    literal = work.loc[place == name, "path_text"].unique()
    return str(literal[0]) if len(literal) == 1 else name
