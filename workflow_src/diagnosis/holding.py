"""What holds the host up inside of its calls: device work that a call waits for, a full queue."""

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE

SHORT_NS = 5_000
"""At most so much is a waiting call's own cost, and its return after what it waited for, if the
capture has no such call that tells."""

RETURN_NS = 30_000
"""A waiting call returns at most so long after what it waited for, or it waited for more."""

WHOLE_DEVICE = r"(?:Device|Ctx)Synchronize|Free"
"""Calls that wait for all streams."""

QUEUE = 1024
"""Launches that a stream takes before the next one waits, where the capture doesn't tell."""

LEAST_QUEUE = 200
"""Fewer pending launches are no full queue."""

LEAST_HELD = 10
"""Launches that a full queue holds up; fewer may be slow for another reason."""

HELD_UP = 3
"""A launch that took so many times the usual is held up, if the queue is as full as ever."""


def waits(calls: pd.DataFrame, work: pd.DataFrame) -> pd.DataFrame:
    """A row per activity that a call returns after, with `call`, `work` and `blocked`.

    blocked: whether the call was made before the activity had ended.
    """
    last = _last_in_lanes(work, len(calls))
    end, of_call = work["end_ns"].to_numpy(), work["call"].to_numpy()
    lane_of_call = _lane_of_latest(work, len(calls))
    rows: list[tuple[int, int, bool]] = []
    waiting = calls[calls["may_wait"]]
    whole = waiting["name"].str.contains(WHOLE_DEVICE, regex=True)
    columns = zip(waiting.index, waiting["start_ns"], waiting["end_ns"], whole, strict=True)
    for call, begun, returned, everything in columns:
        before = last[:, call]
        done = before[(before != NOWHERE) & (end[before] <= returned)]
        chosen = _chosen(done, end, begun, int(lane_of_call[call]), work)
        own = before[(before != NOWHERE) & (of_call[before] == call)]
        if len(own):
            chosen = own[end[own] <= returned]
        elif everything:
            chosen = done
        rows += [(call, int(row), bool(end[row] > begun)) for row in chosen]
    return pd.DataFrame(rows, columns=["call", "work", "blocked"])


def _chosen(done: Indices, end: Indices, begun: int, lane: int, work: pd.DataFrame) -> Indices:
    """Of the last activities of all lanes, the one that a call for one stream or event awaits."""
    if not len(done):
        return done
    latest = done[[int(np.argmax(end[done]))]]
    if end[latest[0]] > begun:
        return latest
    return done[work["lane"].to_numpy()[done] == lane]


def _last_in_lanes(work: pd.DataFrame, calls: int) -> Indices:
    """The row of the last activity of each lane that is launched by each call or before it."""
    of_call, lane = work["call"].to_numpy(), work["lane"].to_numpy()
    last = np.full((int(lane.max(initial=-1)) + 1, calls), NOWHERE)
    for number in range(len(last)):
        rows = np.flatnonzero(lane == number)
        at = np.searchsorted(of_call[rows], np.arange(calls), side="right") - 1
        last[number] = np.append(rows, NOWHERE)[at]
    return last


def _lane_of_latest(work: pd.DataFrame, calls: int) -> Indices:
    """The lane of the last activity that is launched by each call or before it, or NOWHERE."""
    at = np.searchsorted(work["call"].to_numpy(), np.arange(calls), side="right") - 1
    return np.append(work["lane"].to_numpy(), NOWHERE)[at]


def own_costs(calls: pd.DataFrame, blocked: Indices) -> Indices:
    """How long (ns) each call takes if nothing holds it up; `blocked`: rows that were held up.

    Of these it is the usual time of calls of the same name that weren't, or SHORT_NS, at most the
    recorded time.
    """
    took = (calls["end_ns"] - calls["start_ns"]).to_numpy()
    held = np.zeros(len(calls), dtype=bool)
    held[blocked] = True
    usual = pd.Series(took[~held]).groupby(calls["name"].to_numpy()[~held]).median()
    expected = calls["name"].map(usual).fillna(SHORT_NS).to_numpy()
    return np.where(held, np.minimum(took, expected), took).astype(np.int64)


def returns(calls: pd.DataFrame, work: pd.DataFrame, waiting: pd.DataFrame) -> Indices:
    """The time (ns) from the end of each awaited activity to the return of its call.

    As recorded, but no longer than usual; but freeing memory takes its own time then.
    """
    end = calls["end_ns"].to_numpy()[waiting["call"]]
    took = end - work["end_ns"].to_numpy()[waiting["work"]]
    blocked = waiting["blocked"].to_numpy(dtype=bool)
    frees = (calls["kind"] == "free").to_numpy()[waiting["call"]]
    usual = np.minimum(took, RETURN_NS)
    return np.where(blocked, np.where(frees, took, usual), SHORT_NS).astype(np.int64)


def queue_of(calls: pd.DataFrame, work: pd.DataFrame) -> tuple[int, Indices]:
    """How many launches a lane takes before the next one waits, and the calls that it held up.

    The queue was full if most launches that found it as full as ever took HELD_UP times the usual.
    """
    took = (calls["end_ns"] - calls["start_ns"]).to_numpy()
    launches = work[work["call"] != NOWHERE].drop_duplicates("call")
    call, depth = launches["call"].to_numpy(), _depths(launches, calls)
    deepest = int(depth.max(initial=0))
    usual = float(np.median(took[call])) if len(call) else 0.0
    full = depth >= max(0.95 * deepest, LEAST_QUEUE)
    held = full & (took[call] > HELD_UP * usual)
    if held.sum() < LEAST_HELD or held.sum() < full.sum() / 2:
        return max(QUEUE, deepest + 1), np.zeros(0, dtype=np.int64)
    return int(np.median(depth[held])), call[held]


def _depths(launches: pd.DataFrame, calls: pd.DataFrame) -> Indices:
    """How many earlier activities of its lane hadn't started when each launch returned."""
    returned = calls["end_ns"].to_numpy()[launches["call"]]
    depth = np.zeros(len(launches), dtype=np.int64)
    for rows in launches.groupby("lane").indices.values():
        started = np.maximum.accumulate(launches["start_ns"].to_numpy()[rows])
        depth[rows] = np.arange(len(rows)) - np.searchsorted(started, returned[rows], side="right")
    return np.maximum(depth, 0)
