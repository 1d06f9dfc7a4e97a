"""The host's calls of a process's steps in one order, and what it does between them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import call_kinds, matching
from workflow_src.captures.capture import OVERHEAD, UNKNOWN
from workflow_src.captures.rows import rows_where
from workflow_src.common.intervals import BEFORE_ALL, Indices
from workflow_src.common.nesting import NOWHERE, Nesting, tree
from workflow_src.diagnosis.event_ties import WAIT_EVENT
from workflow_src.diagnosis.recording import OTHER
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.ledger import blocking

TRIFLE_NS = 5_000
"""A call of kind "other", such as looking up a kernel's name, counts if it takes so long."""


@dataclass(frozen=True)
class Loop:
    """A training loop: its process, the thread that its steps are ranges of, and their ranges."""

    process: int
    thread: int
    steps: pd.DataFrame


def host_calls(attributed: Attributed, loop: Loop, since_ns: int = BEFORE_ALL) -> pd.DataFrame:
    """The calls of all threads that work for the loop or launch work beside it, by start.

    Columns: those of step.CALLS but cost_ns, and `may_wait`. Calls inside of others, trifles, and
    threads that launch nothing are left out, and what ended before since_ns.
    """
    mine = (attributed.work["process"] == loop.process).to_numpy()
    work = rows_where(attributed.work[["thread", "tree", "launch_ns"]], mine)
    # Threads whose work, for the most part, is in the tree of the loop's.
    shares = (work["tree"] == loop.thread).groupby(work["thread"]).mean()
    helping = {int(thread) for thread in shares.index[shares > 0.5]} - {UNKNOWN}
    launching = {loop.thread, *helping, *work["thread"].unique().tolist()} - {UNKNOWN}
    calls = attributed.capture.calls
    calls = calls[(calls["end_ns"] >= since_ns) & (calls["process"] == loop.process)]
    calls = _outermost(calls[calls["thread"].isin(launching) & (calls["kind"] != OVERHEAD)])
    launches = work.loc[work["launch_ns"] >= since_ns, "launch_ns"]
    calls = calls[~_trifles(calls, launches)].reset_index(drop=True)
    return calls[["thread", "start_ns", "end_ns"]].assign(
        kind=_kinds(calls["name"]),
        name=calls["name"].astype(object),
        path=_paths(attributed, loop, calls),
        step=step_at(loop.steps, calls["start_ns"].to_numpy()),
        beside=~calls["thread"].isin({loop.thread, *helping}),
        gap_ns=_gaps,
        may_wait=calls.index.isin(blocking(calls).index),
    )


def _kinds(names: pd.Series) -> pd.Series:
    """The kind of each call; each different name is looked at once."""
    number, known = pd.factorize(names)
    kinds = call_kinds(pd.Series(known, dtype=object)).to_numpy(dtype=object)
    return pd.Series(kinds[number], index=names.index)


def _trifles(calls: pd.DataFrame, launches: pd.Series) -> pd.Series:
    """Short calls that neither launch nor wait nor order streams: part of the host's own time.

    launches: start (ns) of each call that launched something, whatever its name.
    """
    short = calls["end_ns"] - calls["start_ns"] < TRIFLE_NS
    ordering = matching(calls["name"], WAIT_EVENT)
    launching = calls["start_ns"].isin(launches)
    return short & (_kinds(calls["name"]) == OTHER) & ~ordering & ~launching


def _gaps(calls: pd.DataFrame) -> Indices:
    """The time (ns) before each call since the end of the loop's call before it.

    Of a call beside the loop: since the start of the loop's latest call. The first call has none.
    """
    start, end, beside = (calls[name].to_numpy() for name in ("start_ns", "end_ns", "beside"))
    own = np.flatnonzero(~beside)
    before = np.append(own, NOWHERE)[np.searchsorted(own, np.arange(len(start))) - 1]
    since = start - np.where(beside, start[before], end[before])
    return np.where(before == NOWHERE, 0, since)


def step_at(steps: pd.DataFrame, moments: Indices) -> Indices:
    """The row of the step that each moment lies in, or NOWHERE."""
    row = np.searchsorted(steps["start_ns"].to_numpy(), moments, side="right") - 1
    inside = moments < np.append(steps["end_ns"].to_numpy(), -1)[row]
    return np.where(inside & (row >= 0), row, NOWHERE)


def _outermost(calls: pd.DataFrame) -> pd.DataFrame:
    """The calls that lie in no other one of their thread, in order of start."""
    ordered = calls.sort_values(["thread", "start_ns", "end_ns"], ascending=[True, True, False])
    latest = ordered.groupby("thread")["end_ns"].cummax().groupby(ordered["thread"]).shift()
    outer = ordered[latest.isna() | (ordered["end_ns"] > latest)]
    return outer.sort_values("start_ns", kind="stable", ignore_index=True)


def _paths(attributed: Attributed, loop: Loop, calls: pd.DataFrame) -> Indices:
    """The path of the innermost range open at each call: of its thread, or else of the loop's."""
    ranges, path_of = attributed.placed.ranges, np.append(attributed.paths.of_range, NOWHERE)
    path = np.full(len(calls), NOWHERE)
    for thread in [loop.thread, *calls["thread"].unique().tolist()]:
        nesting, rows = ranges_of(ranges, loop.process, thread)
        found = path_of[rows[nesting.at(calls["start_ns"].to_numpy())]]
        asked = (found != NOWHERE) & ((calls["thread"] == thread) | (thread == loop.thread))
        path[asked] = found[asked]
    return path


def ranges_of(ranges: pd.DataFrame, process: int, thread: int) -> tuple[Nesting, Indices]:
    """How the ranges of a thread are nested, and the row of each, with NOWHERE last."""
    rows = np.flatnonzero((ranges["process"] == process) & (ranges["thread"] == thread))
    begins, ends = (ranges[name].to_numpy()[rows] for name in ("start_ns", "end_ns"))
    return tree(begins, ends).nesting, np.append(rows, NOWHERE)
