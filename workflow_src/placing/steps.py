"""The steps of a capture: the ledger of each, and where in the tree of paths devices are idle.

An idle gap belongs to the path that launched the work that ends it. It is the step's own if that
work was launched after the step, or in no range of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_src.captures.capture import OPERATOR, OVERHEAD, UNKNOWN
from workflow_src.captures.rows import rows_where
from workflow_src.common.intervals import Union
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.ledger import STEP_COLUMNS as OF_STEP
from workflow_src.placing.ledger import Device, step_ledger

OF_WORK = ("start_ns", "end_ns", "launch_ns", "launch_end_ns")
STEP_COLUMNS = ("process", "path", *OF_STEP[1:])


@dataclass(frozen=True)
class ThreadSteps:
    """The steps of one thread, and what the devices and the host of its process did.

    has_calls: whether the capture holds calls that launched some of the process's work.
    """

    steps: pd.DataFrame
    device: Device
    has_calls: bool


def thread_steps(found: Attributed) -> list[ThreadSteps]:
    """The steps of each thread that has any."""
    return [of_thread(found, rows) for _, rows in step_ranges(found).groupby(["process", "thread"])]


def steps(threads: Sequence[ThreadSteps]) -> pd.DataFrame:
    """A row per step, with STEP_COLUMNS: whole nanoseconds, wall = device_active + idle.

    A device is active while any activity of the process runs, whenever it was launched. Causes are
    missing where the capture holds no call that launched something.
    """
    parts = [pd.DataFrame(columns=list(STEP_COLUMNS), dtype="Int64")]
    for each in threads:
        found = step_ledger(each.steps, each.device, each.has_calls)
        found = found.rename(columns={"phase": "path"})
        parts.append(found.assign(process=each.steps["process"].iloc[0])[list(STEP_COLUMNS)])
    return pd.concat(parts).sort_values(["process", "path", "step"], ignore_index=True)


def step_ranges(found: Attributed) -> pd.DataFrame:
    """The ranges that are steps, in order of start, with `path`, `phase` (the same) and `step`.

    number: the path's.
    """
    is_step = found.steps.is_step
    number = found.paths.of_range[is_step]
    path = found.paths.text[number]
    chosen = found.placed.ranges[is_step].assign(path=path, phase=path, number=number)
    chosen = chosen.sort_values("start_ns")
    return chosen.assign(step=chosen.groupby(["process", "path"]).cumcount())


def of_thread(found: Attributed, chosen: pd.DataFrame) -> ThreadSteps:
    """Steps of one thread, and what held it up: its own calls, and those of threads that launch
    what lies in its tree."""
    process, thread = (int(chosen[name].iloc[0]) for name in ("process", "thread"))
    work, mine = found.work, (found.work["process"] == process).to_numpy()
    known = mine & (work["launch_ns"] != UNKNOWN) & (work["kind"] != OPERATOR)
    launching = mine & (work["tree"] == thread).to_numpy()
    held, threads = found.held, [thread, *work.loc[launching, "thread"].unique()]
    waits = held["thread"].isin(threads) & (held["process"] == process)
    overheads = (held["kind"] == OVERHEAD) & held["process"].isin([process, UNKNOWN])
    # It was elsewhere in ranges of any domain, such as the one that torch has for fetching data.
    ranges = found.capture.ranges
    own = (ranges["process"] == process) & (ranges["thread"] == thread)
    start, end = (ranges.loc[own, name].to_numpy() for name in ("start_ns", "end_ns"))
    launches = np.sort(work.loc[launching, "launch_ns"].to_numpy())
    empty = np.searchsorted(launches, start) == np.searchsorted(launches, end)
    elsewhere = Union.of(start[empty], end[empty])
    device = Device.of(rows_where(work[list(OF_WORK)], mine), held[waits | overheads], elsewhere)
    return ThreadSteps(chosen, device, bool(known.any()))
