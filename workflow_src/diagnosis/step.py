"""A process's steps as a model: host calls in order, device activities, and what ties them.

The threads of a training loop that hand over to each other, such as the one that calls backward and
autograd's, are one order of calls: each call comes the host's own time after the one before it.
All times are integer nanoseconds.
"""

from dataclasses import dataclass

import pandas as pd

from workflow_src.placing.attributed import Attributed

LAUNCH, COPY, SET, SYNCHRONIZE = "launch", "copy", "set", "synchronize"
ALLOCATE, FREE, OTHER = "allocate", "free", "other"
CALL_KINDS = (LAUNCH, COPY, SET, SYNCHRONIZE, ALLOCATE, FREE, OTHER)

CALLS = (
    "kind",
    "name",
    "path",
    "step",
    "thread",
    "start_ns",
    "end_ns",
    "gap_ns",
    "cost_ns",
    "beside",
)
WORK = (
    "kind",
    "name",
    "family",
    "path",
    "step",
    "call",
    "lane",
    "start_ns",
    "end_ns",
    "latency_ns",
    "gap_ns",
)
WAITS = ("call", "work", "return_ns")
TIES = ("work", "after", "gap_ns")
STEPS = ("start_ns", "end_ns", "call", "offset_ns", "time_ns")


@dataclass(frozen=True)
class Recording:
    """Consecutive steps of one process. Rows are numbered from 0; NOWHERE is no row.

    calls: a row per host call in order of start, with CALLS: `kind` of CALL_KINDS, `path` (a number
        of Attributed.paths), `step` (a row of `steps`), gap_ns (the host's own time since the call
        before it), cost_ns (of the call if nothing holds it up). Of a call `beside`, on a thread
        that works for itself, gap_ns is from the start of the last call that isn't.
    work: a row per device activity in order of launch, with WORK: `call` (that launched it), `lane`
        (a stream of a device), latency_ns (at least, from the start of its call to its own), gap_ns
        (at least, from the end of the activity before it in its lane).
    waits: a row per activity that a call returns after, with WAITS: return_ns (from the end of the
        activity to the return of the call).
    ties: a row per activity that starts only after one of another lane, with TIES.
    steps: a row per step, with STEPS: start_ns and end_ns of its range, `call` (its first),
        offset_ns (from the start of the step to that call), time_ns (from the end of the step
        before it to its own, on host and device).
    queue: so many activities of a lane can be launched and not yet done; further launches wait.
    """

    process: int
    calls: pd.DataFrame
    work: pd.DataFrame
    waits: pd.DataFrame
    ties: pd.DataFrame
    steps: pd.DataFrame
    queue: int


def recorded(attributed: Attributed, process: int, step: str = "") -> Recording:
    """The steps of a process, found as in placing.steps (`step`: the name of their range, or "").

    Raises TraceError if the capture has no steps of the process, or no API calls.
    """
    raise NotImplementedError
