"""A process's steps as a model: host calls in order, device activities, and what ties them.

The threads of a training loop that hand over to each other, such as the one that calls backward and
autograd's, are one order of calls: each call comes the host's own time after the one before it.
All times are integer nanoseconds.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import BEFORE_ALL, Indices
from workflow_src.diagnosis.awaited import own_costs, queue_of, returns, waits
from workflow_src.diagnosis.device_work import device_work, timed
from workflow_src.diagnosis.event_ties import event_ties
from workflow_src.diagnosis.host_calls import Loop, host_calls
from workflow_src.diagnosis.recording import CALLS, WAITS, WORK, Recording
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.steps import step_ranges

MOST_CALLS = 100_000
"""Calls of a process in the steps of a recording, so that a replay takes less than half a second.
"""


def recorded(attributed: Attributed, process: int) -> Recording:
    """The steps of a process, found as in placing.steps.

    Of many steps, the last ones, of MOST_CALLS calls together. Raises TraceError if the capture has
    no steps of the process, or no API calls in them, or lost its kernels.
    """
    if attributed.capture.kernels_lost:
        raise TraceError("its kernels were lost")
    loop = loop_of(attributed, process)
    since_ns, loop = _last_steps(loop, attributed.capture.calls)
    every = host_calls(attributed, loop, since_ns)
    skipped = 0
    if since_ns > BEFORE_ALL:
        skipped = int(np.searchsorted(every["start_ns"], loop.steps["start_ns"].iloc[0]))
    calls = every[skipped:].reset_index(drop=True)
    work = device_work(attributed, process, every, skipped)
    steps = _steps(loop, calls, work)
    if steps["call"].iloc[0] == 0:
        calls.loc[0, "gap_ns"] = calls["start_ns"].iloc[0] - steps["start_ns"].iloc[0]
    waiting, (queue, held) = waits(calls, work), queue_of(calls, work)
    calls["cost_ns"] = own_costs(calls, work, waiting, held)
    returned = (calls["start_ns"] + calls["cost_ns"]).to_numpy(copy=True)
    returned[held] = calls["end_ns"].to_numpy()[held]
    events = attributed.capture.waits
    places = attributed.work.loc[work["activity"], ["device", "stream"]]
    awaited = event_ties(work, places, calls, events[events["process"] == process])
    work, ties = timed(work, np.append(returned, 0)[work["call"]], awaited)
    waiting = waiting.assign(return_ns=returns(calls, work, waiting))
    tables = calls[list(CALLS)], work[list(WORK)], waiting[list(WAITS)], ties
    return Recording(process, *tables, steps, queue)


def _last_steps(loop: Loop, calls: pd.DataFrame) -> tuple[int, Loop]:
    """The last steps that hold at most MOST_CALLS calls, at least one; all if since BEFORE_ALL.

    First since when calls are looked at: the step before these tells what it left to the device.
    """
    own = np.sort(calls["start_ns"].to_numpy()[(calls["process"] == loop.process).to_numpy()])
    start = loop.steps["start_ns"].to_numpy()
    after = len(own) - np.searchsorted(own, start)
    kept = min(int((after > MOST_CALLS).sum()), len(start) - 1)
    steps = loop.steps[kept:].reset_index(drop=True)
    return (int(start[kept - 1]) if kept else BEFORE_ALL), replace(loop, steps=steps)


def loop_of(attributed: Attributed, process: int) -> Loop:
    """The thread of a process with most steps, and these in order of start."""
    found = step_ranges(attributed)
    found = found[found["process"] == process]
    if not len(found):
        raise TraceError(f"process {process} has no steps: capture_step (--step) names their range")
    thread = int(found["thread"].value_counts().index[0])
    steps = found.loc[found["thread"] == thread, ["start_ns", "end_ns"]]
    return Loop(process, thread, steps.sort_values("start_ns", ignore_index=True))


def _steps(loop: Loop, calls: pd.DataFrame, work: pd.DataFrame) -> pd.DataFrame:
    """The steps that hold calls, with the first and the last one and their recorded times."""
    own = np.flatnonzero(~calls["beside"].to_numpy())
    start = calls["start_ns"].to_numpy()[own]
    first = np.searchsorted(start, loop.steps["start_ns"], side="left")
    after = np.searchsorted(start, loop.steps["end_ns"], side="left")
    having = after > first
    if not having.any():
        raise TraceError(f"the steps of process {loop.process} hold no API call")
    steps = loop.steps[having].reset_index(drop=True)
    steps = steps.assign(call=own[first[having]], last_call=own[after[having] - 1])
    return steps.assign(time_ns=_recorded_times(steps, work))


def _recorded_times(steps: pd.DataFrame, work: pd.DataFrame) -> Indices:
    """The times of steps as of Recording.steps."""
    done = np.append(np.maximum.accumulate(work["end_ns"].to_numpy(dtype=np.int64)), BEFORE_ALL)
    before = np.searchsorted(work["call"], steps["call"].iloc[:1], side="left")
    within = np.searchsorted(work["call"], steps["last_call"], side="right")
    ends = np.maximum(steps["end_ns"].to_numpy(), done[within - 1])
    begin = np.maximum(steps["start_ns"].to_numpy()[:1], done[before - 1])
    return np.diff(np.append(begin, ends)).astype(np.int64)
