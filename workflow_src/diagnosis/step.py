"""A process's steps as a model: host calls in order, device activities, and what ties them."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import call_kinds, matching
from workflow_src.captures.capture import OVERHEAD, UNKNOWN
from workflow_src.captures.rows import Values, rows_where, spans
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import BEFORE_ALL, Indices
from workflow_src.common.nesting import NOWHERE, tree
from workflow_src.diagnosis.awaited import own_costs, waits
from workflow_src.diagnosis.device_work import WAIT_EVENT, device_work, event_ties, timed
from workflow_src.diagnosis.recording import OTHER, Recording
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.ledger import blocking
from workflow_src.placing.steps import step_ranges

MOST_CALLS = 100_000
"""Of a process in a recording, so that a replay takes under half a second."""

TRIFLE_NS = 5_000
"""A call of kind "other", such as looking up a kernel's name, counts from this time on."""


class Loop(NamedTuple):
    """A training loop: the thread that its steps are ranges of, and since when (ns) calls count."""

    process: int
    thread: int
    steps: pd.DataFrame
    since_ns: int


def recorded(attributed: Attributed, process: int) -> Recording:
    """The steps of a process, found as in placing.steps; of many the last, of MOST_CALLS calls.

    Raises TraceError if it has no steps, or no API calls in them, or its kernels were lost.
    """
    if attributed.capture.kernels_lost:
        raise TraceError("its kernels were lost")
    loop = loop_of(attributed, process)
    calls = _host_calls(attributed, loop)
    work = device_work(attributed, process, calls)
    steps = _steps(loop, calls, work)
    if steps["call"].iloc[0] == 0:
        calls.loc[0, "gap_ns"] = calls["start_ns"].iloc[0] - steps["start_ns"].iloc[0]
    waiting = waits(calls, work)
    calls["cost_ns"] = own_costs(calls, work, waiting)
    returned = (calls["start_ns"] + calls["cost_ns"]).to_numpy()
    work, ties = timed(work, np.append(returned, 0)[work["call"]], event_ties(work, calls))
    return Recording(process, calls, work, waiting, ties, steps)


def loop_of(attributed: Attributed, process: int) -> Loop:
    """The thread of a process with most steps, and the last of these in order."""
    found = step_ranges(attributed)
    found = found[found["process"] == process]
    if not len(found):
        raise TraceError(f"process {process} has no steps: capture_step (--step) names their range")
    thread = int(found["thread"].value_counts().index[0])
    steps = found.loc[found["thread"] == thread, ["start_ns", "end_ns"]].sort_values("start_ns")
    calls, start = attributed.capture.calls, steps["start_ns"].to_numpy()
    own = np.sort(calls["start_ns"].to_numpy()[(calls["process"] == process).to_numpy()])
    after = len(own) - np.searchsorted(own, start)
    gone = min(int((after > MOST_CALLS).sum()), len(start) - 1)
    since_ns = int(start[gone]) if gone else BEFORE_ALL
    return Loop(process, thread, steps[gone:].reset_index(drop=True), since_ns)


def _host_calls(attributed: Attributed, loop: Loop) -> pd.DataFrame:
    """The calls of all threads that work for the loop or launch work beside it, by start.

    As Recording.calls but for cost_ns, and with `may_wait`. Without calls inside of others, or
    before since_ns, and trifles that neither launch nor wait nor order streams: these are the
    host's own time.
    """
    mine = (attributed.work["process"] == loop.process).to_numpy()
    work = rows_where(attributed.work[["thread", "tree", "launch_ns"]], mine)
    # Threads whose work mostly is in the tree of the loop's.
    shares = (work["tree"] == loop.thread).groupby(work["thread"]).mean()
    helping = {loop.thread, *shares.index[shares > 0.5]} - {UNKNOWN}
    launching = {*helping, *work["thread"].unique()} - {UNKNOWN}
    calls = attributed.capture.calls
    calls = calls[(calls["start_ns"] >= loop.since_ns) & (calls["process"] == loop.process)]
    calls = _outermost(calls[calls["thread"].isin(launching) & (calls["kind"] != OVERHEAD)])
    calls = calls.assign(may_wait=calls.index.isin(blocking(calls).index))
    number, known = pd.factorize(calls["name"])
    calls["kind"] = call_kinds(pd.Series(known, dtype=object)).to_numpy(dtype=object)[number]
    trifle = calls["end_ns"] - calls["start_ns"] < TRIFLE_NS
    trifle &= (calls["kind"] == OTHER) & ~matching(calls["name"], WAIT_EVENT)
    calls = calls[~trifle | calls["start_ns"].isin(work["launch_ns"])].reset_index(drop=True)
    return calls[["thread", "start_ns", "end_ns", "kind", "may_wait"]].assign(
        name=calls["name"].astype(object),
        path=pd.Series(_paths(attributed, loop, calls), dtype=object),
        step=_step_at(loop.steps, calls["start_ns"].to_numpy()),
        beside=~calls["thread"].isin(helping),
        gap_ns=_gaps,
    )


def _outermost(calls: pd.DataFrame) -> pd.DataFrame:
    ordered = calls.sort_values(["thread", "start_ns", "end_ns"], ascending=[True, True, False])
    latest = ordered.groupby("thread")["end_ns"].cummax().groupby(ordered["thread"]).shift()
    outer = ordered[latest.isna() | (ordered["end_ns"] > latest)]
    return outer.sort_values("start_ns", kind="stable", ignore_index=True)


def _gaps(calls: pd.DataFrame) -> Indices:
    """The time (ns) before each call since the end of the loop's call before it; 0 for the first.

    Of a call beside the loop: since the start of the loop's latest call.
    """
    start, end, beside = (calls[name].to_numpy() for name in ("start_ns", "end_ns", "beside"))
    own = np.flatnonzero(~beside)
    before = np.append(own, NOWHERE)[np.searchsorted(own, np.arange(len(start))) - 1]
    since = start - np.where(beside, start[before], end[before])
    return np.where(before == NOWHERE, 0, since)


def _step_at(steps: pd.DataFrame, moments: Indices) -> Indices:
    row = np.searchsorted(steps["start_ns"].to_numpy(), moments, side="right") - 1
    inside = moments < np.append(steps["end_ns"].to_numpy(), -1)[row]
    return np.where(inside & (row >= 0), row, NOWHERE)


def _paths(attributed: Attributed, loop: Loop, calls: pd.DataFrame) -> Values:
    """The path of the innermost range open at each call: of its thread, or else of the loop's."""
    ranges, path = attributed.placed.ranges, np.full(len(calls), "", dtype=object)
    for thread in dict.fromkeys([loop.thread, *calls["thread"].unique().tolist()]):
        found = open_ranges(ranges, loop.process, thread, calls["start_ns"].to_numpy())
        asked = (found != NOWHERE) & ((calls["thread"] == thread) | (thread == loop.thread))
        path[asked] = texts(attributed)[found[asked]]
    return path


def texts(attributed: Attributed) -> Values:
    """The path of each placed range, and "" last."""
    return np.append(attributed.paths.text[attributed.paths.of_range], "")


def open_ranges(ranges: pd.DataFrame, process: int, thread: int, moments: Indices) -> Indices:
    """The row of a thread's innermost range open at each moment, or NOWHERE."""
    rows = np.flatnonzero((ranges["process"] == process) & (ranges["thread"] == thread))
    return np.append(rows, NOWHERE)[tree(*spans(ranges.iloc[rows])).at(moments)]


def _steps(loop: Loop, calls: pd.DataFrame, work: pd.DataFrame) -> pd.DataFrame:
    own = np.flatnonzero(~calls["beside"].to_numpy())
    start = calls["start_ns"].to_numpy()[own]
    first, after = (np.searchsorted(start, moments) for moments in spans(loop.steps))
    having = after > first
    if not having.any():
        raise TraceError(f"the steps of process {loop.process} hold no API call")
    steps = loop.steps[having].reset_index(drop=True)
    steps = steps.assign(call=own[first[having]], last_call=own[after[having] - 1])
    # Each ends with its range, or with the last work that was launched by then.
    done = np.append(np.maximum.accumulate(work["end_ns"].to_numpy(dtype=np.int64)), BEFORE_ALL)
    before = np.searchsorted(work["call"], steps["call"].iloc[:1])
    within = np.searchsorted(work["call"], steps["last_call"], side="right")
    ends = np.maximum(steps["end_ns"].to_numpy(), done[within - 1])
    begin = np.maximum(steps["start_ns"].to_numpy()[:1], done[before - 1])
    return steps.assign(time_ns=np.diff(np.append(begin, ends)).astype(np.int64))
