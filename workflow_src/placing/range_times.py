"""What ranges hold: the device time launched in each, and the phase and step that it lies in.

All times are integer nanoseconds.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.common.case import PHASES
from workflow_src.common.nesting import NOWHERE


def number_steps(ranges: pd.DataFrame) -> pd.DataFrame:
    """Placed ranges with `phase` (the step range that encloses them, or "") and `step`.

    `step` counts from 0 within a phase, in order of start; outside any step it is NOWHERE.
    """
    parent = ranges["parent"].to_numpy()
    root = np.arange(len(ranges))
    while (parent[root] != NOWHERE).any():
        root = np.where(parent[root] != NOWHERE, parent[root], root)
    is_step = (ranges["parent"] == NOWHERE) & ranges["name"].isin(PHASES)
    is_step[is_step] = one_after_another(ranges[is_step])
    ordinal = ranges[is_step].sort_values("start_ns").groupby("name").cumcount()
    step = ordinal.reindex(ranges.index, fill_value=NOWHERE).to_numpy()[root]
    phase = np.where(is_step, ranges["name"], "")[root]
    return ranges.assign(phase=phase, step=step)


def one_after_another(ranges: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which ranges can be steps: they last, and on their thread all that began before have ended.

    So of ranges inside of each other the outermost one is left.
    """
    rows = (
        ranges[["process", "thread", "start_ns", "end_ns"]].astype("int64").reset_index(drop=True)
    )
    rows = rows.sort_values([*rows.columns], ascending=[True, True, True, False])
    threads = [rows["process"], rows["thread"]]
    ended = rows["end_ns"].groupby(threads).cummax()
    before = ended.groupby(threads).shift(fill_value=np.iinfo(np.int64).min)
    found = (rows["end_ns"] > rows["start_ns"]) & (rows["start_ns"] >= before)
    return found.sort_index().to_numpy()


def whole_steps(ranges: pd.DataFrame) -> pd.DataFrame:
    """The ranges with `phase` that are whole steps, in the order in which they began."""
    return ranges[(ranges["phase"] != "") & (ranges["parent"] == NOWHERE)].sort_values("start_ns")


def device_times(ranges: pd.DataFrame, activities: pd.DataFrame) -> pd.DataFrame:
    """Placed ranges with `busy_ns` and `span_ns`, activities of inner ranges included.

    busy: sum of the device time launched in the range; span: from the start of the first to the
    end of the last activity launched in it; both 0 if there is none.
    """
    parent = np.append(ranges["parent"].to_numpy(), NOWHERE)
    duration = activities["duration_ns"].to_numpy()
    begin, end = activities["start_ns"].to_numpy(), activities["end_ns"].to_numpy()
    busy = np.zeros(len(ranges) + 1, dtype=np.int64)
    first = np.full(len(ranges) + 1, np.iinfo(np.int64).max)
    last = np.full(len(ranges) + 1, np.iinfo(np.int64).min)
    at = activities["range"].to_numpy()
    while (at != NOWHERE).any():
        np.add.at(busy, at, np.where(at == NOWHERE, 0, duration))
        np.minimum.at(first, at, begin)
        np.maximum.at(last, at, end)
        at = parent[at]
    span = np.where(last[:-1] > first[:-1], last[:-1] - first[:-1], 0)
    return ranges.assign(busy_ns=busy[:-1], span_ns=span)
