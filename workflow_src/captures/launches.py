"""Which call launched a device activity: by the number that the profiler gave to both."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.call_kinds import launches_work, named
from workflow_src.captures.capture import UNKNOWN
from workflow_src.common.intervals import Indices, Integers

NO_NUMBER = "the profiler recorded no number that leads to its launch"
NO_CALLS = "the capture has no API call of its process"
BEFORE = "it was launched before the first API call of the capture"
NO_CALL = "its launch is not in the capture"
SHARED = "its launch has the number of launches in other processes"
REUSED = "its launch has the number of other launches in its process, which may be its own"

_BITS = 44
"""Numbers of launches have 32 bits, with that of a merged rank 44; a larger one isn't valid."""


@dataclass(frozen=True)
class Calls:
    """API calls: start and end (ns), process, thread and number of each."""

    start: Indices
    end: Indices
    process: Integers
    thread: Integers
    number: Integers


@dataclass(frozen=True)
class Launches:
    """For each activity: start, end (ns) and thread of its launch, or UNKNOWN, and why (or "").

    reused: how many have a number that several launches of their process have.
    outermost: which calls have a number, and aren't inside of another call of it; unanswered: those
    of them whose number no activity has.
    """

    start: Indices
    end: Indices
    thread: Integers
    missing: npt.NDArray[np.object_]
    reused: int
    outermost: npt.NDArray[np.bool_]
    unanswered: npt.NDArray[np.bool_]


def launches(
    process: Indices, number: Indices, begun: Indices, calls: Calls, complete: bool = True
) -> Launches:
    """The launch of each activity, which began at `begun` (ns): the call of its number.

    complete: whether no calls were left out, so that work of a number before the first one was
    launched before all of them.
    """
    known = np.sort(pd.unique(calls.process))
    made = _by_number(known, calls)
    wanted = _keys(known, process, number)
    call = made.first(wanted)
    again = np.isin(wanted, made.reused) & (call != UNKNOWN)
    if again.any():
        call[again] = _latest(made, wanted[again], begun[again], calls)
    found, unclear = call != UNKNOWN, again & (call == UNKNOWN)
    start, end = (np.full(len(process), UNKNOWN) for _ in range(2))
    thread = np.full(len(process), UNKNOWN, dtype=calls.thread.dtype)
    missing, unanswered = np.full(len(process), "", dtype=object), made.outermost.copy()
    missing[~found] = _why(known, process[~found], number[~found], calls, complete)
    if len(unclaimed := number[~found & (number > 0)]):
        unanswered &= ~np.isin(calls.number, unclaimed)
    missing[unclear] = REUSED
    call = call[found]
    start[found], end[found], thread[found] = calls.start[call], calls.end[call], calls.thread[call]
    unanswered[call] = False
    return Launches(start, end, thread, missing, int(again.sum()), made.outermost, unanswered)


def counted(names: "pd.Categorical[Any]", calls: Calls, launched: Launches) -> tuple[int, int]:
    """How many calls launch work of a device, and how many of these have no activity.

    names: of `calls`. What a stream's capture records into a graph is launched with that.
    """
    launching = launches_work(names) & launched.outermost
    lost = launching & launched.unanswered
    if lost.any():
        recorded = lost & _into_graphs(names, calls)
        launching, lost = launching & ~recorded, lost & ~recorded
    return int(launching.sum()), int(lost.sum())


def _into_graphs(names: "pd.Categorical[Any]", calls: Calls) -> npt.NDArray[np.bool_]:
    """Which calls begin while a stream of their process is captured, by whatever thread."""
    begins, ends = (
        named(names, re.compile(f"Stream{edge}Capture").search) for edge in ("Begin", "End")
    )
    inside = np.zeros(len(begins), dtype=bool)
    for process in pd.unique(calls.process[begins]):
        mine = calls.process == process
        begun, ended = (
            np.searchsorted(np.sort(calls.start[mine & edge]), calls.start, side="right")
            for edge in (begins, ends)
        )
        inside |= mine & (begun > ended)
    return inside


def that_launched(process: Indices, number: Indices, calls: Calls) -> npt.NDArray[np.bool_]:
    """Which calls have the number of one of these activities of their process."""
    if not len(number):
        return np.zeros(len(calls.start), dtype=bool)
    known = np.sort(pd.unique(calls.process))
    keys = _keys(known, calls.process, calls.number)
    return np.asarray(np.isin(keys, _keys(known, process, number)) & (keys != UNKNOWN))


@dataclass(frozen=True)
class _Made:
    """Calls with a number: their rows in order of `keys`, those of one key in order of start.

    outermost: which calls have a number, and aren't inside of another call of it; reused: the keys
    that several of these have.
    """

    keys: Indices
    order: Indices
    outermost: npt.NDArray[np.bool_]
    reused: Indices

    def first(self, wanted: Indices) -> Indices:
        """The row of the first call of each key, or UNKNOWN."""
        if not len(self.keys):
            return np.full(len(wanted), UNKNOWN)
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        call = self.order[at]
        call[(wanted == UNKNOWN) | (self.keys[at] != wanted)] = UNKNOWN
        return call


def _by_number(known: Indices, calls: Calls) -> _Made:
    keys = _keys(known, calls.process, calls.number)
    outermost = keys != UNKNOWN
    order = np.flatnonzero(outermost)
    keys = keys[order]
    if not (keys[1:] > keys[:-1]).all():
        again = np.lexsort((calls.start[order], keys))
        order, keys = order[again], keys[again]
    same = np.append(False, keys[1:] == keys[:-1])[: len(keys)]
    if not same.any():
        return _Made(keys, order, outermost, np.array([], dtype=np.int64))
    some = same | np.append(same[1:], False)
    rows = order[some]
    table = pd.DataFrame({"key": keys[some], "start": calls.start[rows], "end": calls.end[rows]})
    table = table.assign(thread=calls.thread[rows], row=rows)
    table = table.sort_values(["key", "start", "end"], ascending=[True, True, False], kind="stable")
    inside = _inside(table)
    outermost[table.loc[inside, "row"]] = False
    outer = table.loc[~inside, "key"]
    order[some] = table["row"]
    return _Made(keys, order, outermost, np.asarray(outer[outer.duplicated()].unique()))


def _inside(calls: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which calls lie in an earlier one of their key, as a driver's call in the runtime's."""
    by_key = calls.groupby("key")
    until = by_key["end"].cummax().groupby(calls["key"]).shift(fill_value=UNKNOWN)
    before = by_key["thread"].shift(fill_value=UNKNOWN)
    inside = (calls["end"] <= until) & (calls["thread"] == before) & (by_key.cumcount() > 0)
    return inside.to_numpy(dtype=bool)


def _latest(made: _Made, wanted: Indices, begun: Indices, calls: Calls) -> Indices:
    """Of launches of one number the latest one that an activity can be of, or else the first.

    UNKNOWN after a launch that is left without an activity: what it launched may have begun late.
    So it is where traces of several ranks have become those of one process.
    """
    some = np.isin(made.keys, made.reused)
    row, key = made.order[some], made.keys[some]
    own = made.outermost[row]
    launched = pd.DataFrame({"key": key[own], "row": row[own], "at": calls.start[row[own]]})
    asking = pd.DataFrame({"key": wanted, "at": begun, "place": np.arange(len(wanted))})
    found = pd.merge_asof(asking.sort_values("at"), launched.sort_values("at"), on="at", by="key")
    found = found.sort_values("place")
    firsts = found["key"].map(launched.groupby("key")["row"].first())
    call = found["row"].fillna(firsts)
    left = launched[~launched["row"].isin(call)].groupby("key")["at"].min()
    unclear = found["at"] >= found["key"].map(left)
    return call.mask(unclear, UNKNOWN).to_numpy(dtype=np.int64)


def _keys(known: Integers, process: Integers, number: Integers) -> Indices:
    """One number for a process of `known` and a launch's number; UNKNOWN if either isn't valid."""
    if not len(known):
        return np.full(len(process), UNKNOWN)
    keys = np.minimum(np.searchsorted(known, process), len(known) - 1)
    valid = (known[keys] == process) & (number > 0) & (number < 2**_BITS)
    keys <<= _BITS
    keys += number
    keys[~valid] = UNKNOWN
    return keys


def _why(
    known: Indices, process: Indices, number: Indices, calls: Calls, complete: bool
) -> npt.NDArray[np.str_]:
    """Why an activity's launch isn't known, if it isn't."""
    first = np.full(len(process), np.iinfo(np.int64).max)
    for one in known:
        numbers = calls.number[(calls.process == one) & (calls.number > 0)]
        if len(numbers):
            first[process == one] = numbers.min()
    conditions = [number <= 0, ~np.isin(process, known), (number < first) & complete]
    return np.select(conditions, [NO_NUMBER, NO_CALLS, BEFORE], NO_CALL)
