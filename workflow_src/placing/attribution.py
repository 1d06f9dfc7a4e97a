"""Attribution: which range each activity was launched in, on any thread of its process.

Autograd launches the backward kernels from its own thread, on which no range is open. A launch on
such a thread is attributed to the range that was open on its process's main thread at that moment.
All times are integer nanoseconds, and all device time is accounted for.
"""

import numpy as np
import pandas as pd

from workflow_src.common.case import PHASES
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE, Nesting, nest
from workflow_src.traces.trace import Trace


def _main_thread(ranges: pd.DataFrame, process: int) -> int:
    """The thread of `process` with the process's id; if that has no ranges, the one with most."""
    threads = ranges["thread"]
    return process if (threads == process).any() else int(threads.value_counts().index[0])


def attribute(trace: Trace) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The trace's ranges with `parent` and `path`, and its activities with `range`.

    `parent` and `range` are row numbers of ranges, or NOWHERE; `path` joins
    the names of the open ranges with "/", outermost first.
    """
    ranges = trace.ranges.reset_index(drop=True)
    activities = trace.activities.reset_index(drop=True)
    parent = np.full(len(ranges), NOWHERE)
    owner = np.full(len(activities), NOWHERE)
    for process, of_process in ranges.groupby("process"):
        launched = activities.index[
            (activities["process"] == process) & (activities["launch_ns"] >= 0)
        ].to_numpy()
        _attribute_process(int(str(process)), of_process, activities, launched, parent, owner)
    ranges = ranges.assign(parent=parent)
    return ranges.assign(path=_paths(ranges)), activities.assign(range=owner)


def _attribute_process(
    process: int,
    ranges: pd.DataFrame,
    activities: pd.DataFrame,
    launched: Indices,
    parent: Indices,
    owner: Indices,
) -> None:
    """Fill in `parent` and `owner` for the ranges and the launches of one process."""
    main = _main_thread(ranges, process)
    nestings = {thread: _thread_nesting(rows) for thread, rows in ranges.groupby("thread")}
    of_main = nestings[main]
    moments = activities["launch_ns"].to_numpy()[launched]
    threads = activities["thread"].to_numpy()[launched]
    owner[launched] = of_main.at(moments)
    for thread, nesting in nestings.items():
        rows = ranges.index[ranges["thread"] == thread].to_numpy()
        parent[rows] = nesting.parent[: len(rows)]
        if thread == main:
            continue
        # An outermost range on another thread becomes a child of the main thread's open range.
        roots = rows[parent[rows] == NOWHERE]
        parent[roots] = of_main.at(ranges["start_ns"].loc[roots].to_numpy())
        here = threads == thread
        own = nesting.at(moments[here])
        owner[launched[here]] = np.where(own == NOWHERE, owner[launched[here]], own)


def _thread_nesting(ranges: pd.DataFrame) -> Nesting:
    """The nesting of one thread's ranges, in row numbers of the whole trace."""
    rows = ranges.index.to_numpy()
    local = nest(ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy())
    numbers = np.append(rows, NOWHERE)
    return Nesting(numbers[local.parent], local.times, numbers[local.innermost])


def _paths(ranges: pd.DataFrame) -> pd.Series:
    names = ranges["name"].to_numpy(dtype=object)
    path, above = names.copy(), ranges["parent"].to_numpy()
    while (above != NOWHERE).any():
        held = above != NOWHERE
        path[held] = names[above[held]] + "/" + path[held]
        above = np.where(held, ranges["parent"].to_numpy()[above], NOWHERE)
    return pd.Series(path, index=ranges.index, dtype="str")


def number_steps(ranges: pd.DataFrame) -> pd.DataFrame:
    """Attributed ranges with `phase` (the step range that encloses them, or "") and `step`.

    `step` counts from 0 within a phase, in order of start; outside any step it is NOWHERE.
    """
    parent = ranges["parent"].to_numpy()
    root = np.arange(len(ranges))
    while (parent[root] != NOWHERE).any():
        root = np.where(parent[root] != NOWHERE, parent[root], root)
    is_step = (ranges["parent"] == NOWHERE) & ranges["name"].isin(PHASES)
    ordinal = ranges[is_step].sort_values("start_ns").groupby("name").cumcount()
    step = ordinal.reindex(ranges.index, fill_value=NOWHERE).to_numpy()[root]
    phase = np.where(is_step, ranges["name"], "")[root]
    return ranges.assign(phase=phase, step=step)


def device_times(ranges: pd.DataFrame, activities: pd.DataFrame) -> pd.DataFrame:
    """Attributed ranges with `busy_ns` and `span_ns`, activities of inner ranges included.

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
