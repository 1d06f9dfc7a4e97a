"""Which call launched a device activity: by the number that the profiler gave to both."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from workflow_src.captures.call_kinds import launches_work, matching
from workflow_src.captures.capture import (
    API,
    CALL_KINDS,
    COLUMNS,
    LATEST_NS,
    OVERHEAD,
    PAGEABLE,
    PAGEABLE_COPY,
    STREAM_WAITS,
    UNKNOWN,
    coded,
)
from workflow_src.captures.rows import Mask, in_order
from workflow_src.common.intervals import Indices, Integers

_BITS = 44
"""Numbers of launches have 32 bits, with that of a merged rank 44; a larger one isn't valid."""


@dataclass(frozen=True)
class Numbered:
    """API calls, as Capture.calls with the `correlation` that they share with what they launched.

    known: their processes; keys: of the calls with a number, in order; row: of each its row;
    outer: whether it isn't inside of another call of its number, as a driver's in the runtime's.
    """

    calls: pd.DataFrame
    known: Integers
    keys: Indices
    row: Indices
    outer: Mask

    @classmethod
    def of(cls, calls: pd.DataFrame) -> Self:
        """The calls in order of number; of one number in order of time, the outer ones first."""
        known = np.sort(calls["process"].unique())
        keys = _keys(known, calls["process"].to_numpy(), calls["correlation"].to_numpy())
        row = np.flatnonzero(keys != UNKNOWN)
        keys, outer = keys[row], np.ones(len(row), dtype=bool)
        if (keys[1:] > keys[:-1]).all():
            return cls(calls, known, keys, row, outer)
        start, end = (calls[name].to_numpy()[row] for name in ("start_ns", "end_ns"))
        order = in_order((keys, start, -end))
        keys, row, end = keys[order], row[order], end[order]
        same = np.append(False, keys[1:] == keys[:-1])
        some = same | np.append(same[1:], False)
        # One that lies in an earlier one of its key on their thread is no outer one.
        until = pd.Series(end[some]).groupby(keys[some]).cummax().shift(fill_value=UNKNOWN)
        thread = calls["thread"].to_numpy()[row[some]]
        after = same[some] & np.append(False, thread[1:] == thread[:-1])
        outer[some] = ~(after & (end[some] <= until.to_numpy()))
        return cls(calls, known, keys, row, outer)

    def launch(self, process: Integers, number: Integers) -> Indices:
        """The row of the call with each number; UNKNOWN without one, and of several."""
        wanted = _keys(self.known, process, number)
        if not len(self.keys):
            return np.full(len(wanted), UNKNOWN)
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        call = self.row[at]
        call[(wanted == UNKNOWN) | (self.keys[at] != wanted)] = UNKNOWN
        call[np.isin(wanted, self.reused)] = UNKNOWN
        return call

    @cached_property
    def reused(self) -> Indices:
        """The keys that several calls have, none inside of another."""
        own = self.keys[self.outer]
        return np.unique(own[1:][own[1:] == own[:-1]])

    def latest(self, process: Integers, number: Integers, begun: Indices) -> Indices:
        """The row of the latest launch of each reused number before `begun` (ns), or the first one.

        UNKNOWN after a launch that is left without an activity: what it launched may have begun
        late. So it is where traces of several ranks have become those of one process.
        """
        own = np.isin(self.keys, self.reused) & self.outer
        made = pd.DataFrame({"key": self.keys[own], "row": self.row[own]})
        made["at"] = self.calls["start_ns"].to_numpy()[made["row"]]
        made.loc[~made["key"].duplicated(), "at"] = -LATEST_NS
        asked = pd.DataFrame({"key": _keys(self.known, process, number), "at": begun})
        asked, made = asked.sort_values("at"), made.sort_values("at")
        row = pd.merge_asof(asked, made, on="at", by="key")["row"].set_axis(asked.index)
        left = made[~made["row"].isin(row)].groupby("key")["at"].min()
        unclear = asked["at"] >= asked["key"].map(left)
        return row.mask(unclear, UNKNOWN).sort_index().to_numpy()


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


@dataclass(frozen=True)
class Launched:
    """For each activity: launch_ns, launch_end_ns and thread, as in Capture.work.

    reused: how many have a number that several launches of their process have; launches: how many
    calls launch work of a device; unanswered: how many of these have no activity.
    """

    columns: dict[str, Any]
    reused: int
    launches: int
    unanswered: int


def launched(work: pd.DataFrame, made: Numbered) -> Launched:
    """The launches of activities: process, start_ns and number (`correlation`) of each are given.

    What a stream's capture records into a graph is launched with that.
    """
    process, number = (work[name].to_numpy() for name in ("process", "correlation"))
    call = made.launch(process, number)
    reused = np.isin(_keys(made.known, process, number), made.reused)
    if reused.any():
        begun = work["start_ns"].to_numpy()[reused]
        call[reused] = made.latest(process[reused], number[reused], begun)
    found = call >= 0
    columns = {"launch_ns": "start_ns", "launch_end_ns": "end_ns", "thread": "thread"}
    rows: dict[str, Any] = {
        name: _at(made.calls[column].to_numpy(), call, found) for name, column in columns.items()
    }
    outermost = np.zeros(len(made.calls), dtype=bool)
    outermost[made.row[made.outer]] = True
    launching = launches_work(made.calls["name"]) & outermost
    lost = launching.copy()
    lost[call[found]] = False
    if len(unclaimed := number[~found & (number > 0)]):
        lost &= ~np.isin(made.calls["correlation"].to_numpy(), unclaimed)
    if lost.any():
        recorded = lost & _into_graphs(made.calls)
        launching, lost = launching & ~recorded, lost & ~recorded
    return Launched(rows, int(reused.sum()), int(launching.sum()), int(lost.sum()))


def all_calls(
    made: Numbered, work: pd.DataFrame, copies: pd.DataFrame, overheads: pd.DataFrame
) -> dict[str, Any]:
    """Capture.calls: API calls, those that copy pageable memory told apart, and overheads."""
    calls = made.calls
    kinds = np.full(len(calls) + len(overheads), CALL_KINDS.index(OVERHEAD), dtype=np.int8)
    kinds[: len(calls)] = CALL_KINDS.index(API)
    copying = (copies["source"] == PAGEABLE) | (copies["target"] == PAGEABLE)
    if copying.any():
        copy = work.iloc[copies.loc[copying, "work"]]
        keys = _keys(made.known, copy["process"].to_numpy(), copy["correlation"].to_numpy())
        kinds[made.row[np.isin(made.keys, keys)]] = CALL_KINDS.index(PAGEABLE_COPY)
    columns: dict[str, Any] = {name: calls[name].to_numpy() for name in COLUMNS["calls"][2:]}
    if len(overheads):
        columns = {name: np.append(each, overheads[name]) for name, each in columns.items()}
    names = union_categoricals([calls["name"], overheads["name"]])
    return columns | {"kind": coded(kinds, CALL_KINDS), "name": names}


def _at(values: Integers, call: Indices, found: Mask) -> Integers:
    """The values of calls, UNKNOWN for activities of none."""
    if found.all():
        return values[call]
    each = np.full(len(call), UNKNOWN, dtype=values.dtype)
    each[found] = values[call[found]]
    return each


def _into_graphs(calls: pd.DataFrame) -> Mask:
    """Which calls begin while a stream of their process is captured, by whatever thread."""
    edges = [matching(calls["name"], f"Stream{edge}Capture") for edge in ("Begin", "End")]
    process, start = calls["process"].to_numpy(), calls["start_ns"].to_numpy()
    inside = np.zeros(len(calls), dtype=bool)
    for one in pd.unique(process[edges[0]]):
        mine = process == one
        begun, ended = (
            np.searchsorted(np.sort(start[mine & edge]), start, side="right") for edge in edges
        )
        inside |= mine & (begun > ended)
    return inside


def stream_waits(waits: pd.DataFrame, made: Numbered) -> pd.DataFrame:
    """Which stream waited for which record of an event, as Capture.waits, in order of time.

    waits: process, device and stream; `correlation` of the call that makes the stream wait; the
    record's device, stream and correlation as record_device and so on, or UNKNOWN. Those whose call
    or device isn't known are left out.
    """
    start = made.calls["start_ns"].to_numpy()
    numbers = (waits[name].to_numpy() for name in ("correlation", "record_correlation"))
    calls = (made.launch(waits["process"].to_numpy(), number) for number in numbers)
    wait, record = (_at(start, call, call >= 0) for call in calls)
    found = waits.assign(wait_ns=wait, record_ns=record)
    found.loc[(record == UNKNOWN) | (record >= wait), [*STREAM_WAITS[4:]]] = UNKNOWN
    known = found[(wait != UNKNOWN) & (found["device"] != UNKNOWN)]
    in_time: pd.DataFrame = known.sort_values("wait_ns", ignore_index=True)
    return in_time
