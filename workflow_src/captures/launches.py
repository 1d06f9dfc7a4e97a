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
    COLUMNS,
    OVERHEAD,
    PAGEABLE,
    PAGEABLE_COPY,
    STREAM_WAITS,
    UNKNOWN,
    coded,
)
from workflow_src.captures.rows import Mask
from workflow_src.common.intervals import Indices, Integers

_BITS = 44
"""Numbers of launches have 32 bits, with that of a merged rank 44; larger ones aren't valid."""


@dataclass(frozen=True)
class Numbered:
    """API calls, as Capture.calls with the `correlation` that they share with what they launched.

    known: their processes; keys, row: of the calls with a number, in order. A call inside of
    another one of its key, as a driver's in the runtime's, has none.
    """

    calls: pd.DataFrame
    known: Integers
    keys: Indices
    row: Indices

    @classmethod
    def of(cls, calls: pd.DataFrame) -> Self:
        """The calls in order of number; those of one number in order of time."""
        known = np.sort(calls["process"].unique())
        keys = _keys(known, calls["process"].to_numpy(), calls["correlation"].to_numpy())
        row = np.flatnonzero(keys != UNKNOWN)
        keys = keys[row]
        if (keys[1:] > keys[:-1]).all():
            return cls(calls, known, keys, row)
        start, end = (calls[name].to_numpy()[row] for name in ("start_ns", "end_ns"))
        order = np.lexsort((-end, start, keys))
        keys, row, end = keys[order], row[order], end[order]
        outer = np.append(True, (keys[1:] != keys[:-1]) | (end[1:] > end[:-1]))
        return cls(calls, known, keys[outer], row[outer])

    def keys_of(self, rows: pd.DataFrame, number: str = "correlation") -> Indices:
        """The key of each row's process and number; UNKNOWN if either isn't valid."""
        return _keys(self.known, rows["process"].to_numpy(), rows[number].to_numpy())

    def launch(self, wanted: Indices) -> Indices:
        """The row of the call with each key; UNKNOWN without one, and of several."""
        if not len(self.keys):
            return np.full(len(wanted), UNKNOWN)
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        call = self.row[at]
        call[(wanted == UNKNOWN) | (self.keys[at] != wanted)] = UNKNOWN
        call[np.isin(wanted, self.reused)] = UNKNOWN
        return call

    @cached_property
    def reused(self) -> Indices:
        """The keys that several calls have."""
        return np.unique(self.keys[1:][self.keys[1:] == self.keys[:-1]])

    def latest(self, wanted: Indices, begun: Indices) -> Indices:
        """The row of the latest launch of each reused key before `begun` (ns).

        UNKNOWN after a launch without an activity: what it launched may have begun late. So it is
        where traces of several ranks have become those of one process.
        """
        own = np.isin(self.keys, self.reused)
        made = pd.DataFrame({"key": self.keys[own], "row": self.row[own]})
        made["at"] = self.calls["start_ns"].to_numpy()[made["row"]]
        asked = pd.DataFrame({"key": wanted, "at": begun}).sort_values("at")
        row = pd.merge_asof(asked, made.sort_values("at"), on="at", by="key")["row"]
        row = row.set_axis(asked.index)
        left = made[~made["row"].isin(row)].groupby("key")["at"].min()
        unclear = row.isna() | (asked["at"] >= asked["key"].map(left))
        return row.mask(unclear, UNKNOWN).sort_index().to_numpy(np.int64)


def _keys(known: Integers, process: Integers, number: Integers) -> Indices:
    if not len(known):
        return np.full(len(process), UNKNOWN)
    keys = np.minimum(np.searchsorted(known, process), len(known) - 1)
    valid = (known[keys] == process) & (number > 0) & (number < 2**_BITS)
    keys <<= _BITS
    keys += number
    keys[~valid] = UNKNOWN
    return keys


def launched(work: pd.DataFrame, made: Numbered) -> tuple[dict[str, Any], int, dict[str, Any]]:
    """For each activity (process, start_ns and `correlation`) launch_ns, launch_end_ns and thread,
    as in Capture.work; how many have a number that several launches have; and `launches` and
    `unanswered`, as in Recording.

    What a stream's capture records into a graph is launched with that.
    """
    wanted = made.keys_of(work)
    call, reused = made.launch(wanted), np.isin(wanted, made.reused)
    if reused.any():
        call[reused] = made.latest(wanted[reused], work["start_ns"].to_numpy()[reused])
    found = call >= 0
    columns = {"launch_ns": "start_ns", "launch_end_ns": "end_ns", "thread": "thread"}
    rows: dict[str, Any] = {
        name: _at(made.calls[column].to_numpy(), call, found) for name, column in columns.items()
    }
    launching = np.zeros(len(made.calls), dtype=bool)
    launching[made.row] = launches_work(made.calls["name"])[made.row]
    lost = launching.copy()
    lost[call[found]] = False
    number = work["correlation"].to_numpy()
    if len(unclaimed := number[~found & (number > 0)]):
        lost &= ~np.isin(made.calls["correlation"].to_numpy(), unclaimed)
    if lost.any():
        # Those that begin while any stream is captured.
        start, edges = made.calls["start_ns"].to_numpy(), ("Begin", "End")
        captured = (matching(made.calls["name"], f"Stream{edge}Capture") for edge in edges)
        begun, ended = (np.searchsorted(np.sort(start[at]), start, "right") for at in captured)
        recorded = lost & (begun > ended)
        launching, lost = launching & ~recorded, lost & ~recorded
    counts = {"launches": int(launching.sum()), "unanswered": int(lost.sum())}
    return rows, int(reused.sum()), counts


def all_calls(
    made: Numbered, work: pd.DataFrame, copies: pd.DataFrame, overheads: pd.DataFrame
) -> dict[str, Any]:
    """Capture.calls: API calls, those that copy pageable memory, and overheads."""
    calls = made.calls
    kinds = np.repeat([0, 2], [len(calls), len(overheads)]).astype(np.int8)
    copying = (copies["source"] == PAGEABLE) | (copies["target"] == PAGEABLE)
    if copying.any():
        copy = work.iloc[copies.loc[copying, "work"]]
        kinds[made.row[np.isin(made.keys, made.keys_of(copy))]] = 1
    columns: dict[str, Any] = {name: calls[name].to_numpy() for name in COLUMNS["calls"][2:]}
    if len(overheads):
        columns = {name: np.append(each, overheads[name]) for name, each in columns.items()}
    names = union_categoricals([calls["name"], overheads["name"]])
    return columns | {"kind": coded(kinds, (API, PAGEABLE_COPY, OVERHEAD)), "name": names}


def _at(values: Integers, call: Indices, found: Mask) -> Integers:
    if found.all():
        return values[call]
    each = np.full(len(call), UNKNOWN, dtype=values.dtype)
    each[found] = values[call[found]]
    return each


def stream_waits(waits: pd.DataFrame, made: Numbered) -> pd.DataFrame:
    """Capture.waits in order of time, without those whose call or device isn't known.

    waits: process, device, stream and `correlation` of the wait's call; and, or UNKNOWN, the
    record's as record_device and so on.
    """
    start = made.calls["start_ns"].to_numpy()
    numbers = ("correlation", "record_correlation")
    calls = (made.launch(made.keys_of(waits, number)) for number in numbers)
    wait, record = (_at(start, call, call >= 0) for call in calls)
    found = waits.assign(wait_ns=wait, record_ns=record)
    found.loc[(record == UNKNOWN) | (record >= wait), [*STREAM_WAITS[4:]]] = UNKNOWN
    known = found[(wait != UNKNOWN) & (found["device"] != UNKNOWN)]
    in_time: pd.DataFrame = known.sort_values("wait_ns", ignore_index=True)
    return in_time
