"""Which call launched a device activity: by the number that the profiler gave to both."""

from dataclasses import dataclass
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
    UNKNOWN,
    coded,
)
from workflow_src.common.intervals import Indices, Integers

_BITS = 44
"""Numbers of launches have 32 bits, with that of a merged rank 44; larger ones aren't valid."""


@dataclass(frozen=True)
class Numbered:
    """API calls, as Capture.calls with the `correlation` that they share with what they launched.

    known: their processes; keys, row: of the calls with a number of their own, in order; reused:
    keys that several calls have. A call inside of another one of its key, as a driver's in the
    runtime's, has none.
    """

    calls: pd.DataFrame
    known: Integers
    keys: Indices
    row: Indices
    reused: Indices

    @classmethod
    def of(cls, calls: pd.DataFrame) -> Self:
        """The calls in order of number."""
        known = np.sort(calls["process"].unique())
        keys = _keys(known, calls)
        row = np.flatnonzero(keys != UNKNOWN)
        keys = keys[row]
        if (keys[1:] > keys[:-1]).all():
            return cls(calls, known, keys, row, keys[:0])
        start, end = (calls[name].to_numpy()[row] for name in ("start_ns", "end_ns"))
        order = np.lexsort((-end, start, keys))
        keys, row, end = keys[order], row[order], end[order]
        outer = np.append(True, (keys[1:] != keys[:-1]) | (end[1:] > end[:-1]))
        keys, row = keys[outer], row[outer]
        reused = np.unique(keys[1:][keys[1:] == keys[:-1]])
        once = ~np.isin(keys, reused)
        return cls(calls, known, keys[once], row[once], reused)

    def keys_of(self, rows: pd.DataFrame) -> Indices:
        """The key of each row's process and number; UNKNOWN if either isn't valid."""
        return _keys(self.known, rows)


def _keys(known: Integers, rows: pd.DataFrame) -> Indices:
    process, number = (rows[name].to_numpy() for name in ("process", "correlation"))
    if not len(known):
        return np.full(len(process), UNKNOWN)
    keys = np.minimum(np.searchsorted(known, process), len(known) - 1)
    valid = (known[keys] == process) & (number > 0) & (number < 2**_BITS)
    keys <<= _BITS
    keys += number
    keys[~valid] = UNKNOWN
    return keys


def launched(work: pd.DataFrame, made: Numbered) -> tuple[dict[str, Any], int, dict[str, Any]]:
    """For each activity (process and `correlation`) launch_ns, launch_end_ns and thread, as in
    Capture.work; how many have a number that several launches have, and so none; and `launches` and
    `unanswered`, as in Recording.

    What a stream's capture records into a graph is launched with that.
    """
    wanted, calls = made.keys_of(work), made.calls
    call, reused = np.full(len(wanted), UNKNOWN), np.isin(wanted, made.reused)
    if len(made.keys):
        at = np.searchsorted(made.keys[1:], wanted, side="right")
        call = np.where(made.keys[at] == wanted, made.row[at], UNKNOWN)
    columns = {"launch_ns": "start_ns", "launch_end_ns": "end_ns", "thread": "thread"}
    rows: dict[str, Any] = {
        name: np.append(each := calls[own].to_numpy(), np.array(UNKNOWN, each.dtype))[call]
        for name, own in columns.items()
    }
    launching = made.row[launches_work(calls["name"])[made.row]]
    lost = launching[~np.isin(launching, call)]
    # One whose number an activity has of which nothing else is known may not be lost.
    lost = lost[~np.isin(calls["correlation"].to_numpy()[lost], work["correlation"][call < 0])]
    # Recorded are those that begin while any stream is captured.
    start, edges = calls["start_ns"].to_numpy(), ("Begin", "End")
    captured = (start[matching(calls["name"], f"Stream{edge}Capture")] for edge in edges)
    begun, ended = (np.searchsorted(np.sort(each), start[lost], "right") for each in captured)
    recorded = int((begun > ended).sum())
    counts = {"launches": len(launching) - recorded, "unanswered": len(lost) - recorded}
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
