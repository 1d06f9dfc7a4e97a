"""Events as rows of a table: their order, each once, closed, and only at times that can be.

Profilers write durations that overflowed (TraceLens #669), timestamps of 0 (spark-rapids-jni #2255)
and, after a clock was set, times of another epoch. Such events are told, and added up nowhere.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import IMPOSSIBLE, LATEST_NS, TWICE, Note
from workflow_src.common.intervals import Indices

Values = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Parts = dict[str, pd.DataFrame]

NEVER = LATEST_NS
"""When an event ends that was never closed."""

WHAT = {
    "ranges": "ranges",
    "calls": "API calls",
    "overheads": "overheads of the profiler",
    "work": "device activities",
    "operators": "operators",
}
"""The events of each part."""

LONGEST_NS = 86_400 * 10**9
"""A day. What begins or ends further than that from the middle event isn't of the same capture."""

QUEUED_NS = 60 * 10**9
"""A minute. Work runs on after the last call that was recorded, but the queue of a device isn't
that long: the host waits when 1,024 launches are in it."""

SAMPLE = 10_001
"""Events that the middle one is looked for among, evenly taken from all."""


def rows_where(table: pd.DataFrame, which: Mask) -> pd.DataFrame:
    """Some rows of a table; all of them take no memory of their own."""
    return table if which.all() else table[which]


def in_order(keys: Sequence[Values]) -> Indices:
    """The rows by the first key, those of one by the other keys in turn.

    Files are nearly in order, so that sorting by one key takes little; few rows share a start.
    """
    order = np.argsort(keys[0], kind="stable")
    same = _like_the_one_before(keys[0][order])
    tied = same | np.append(same[1:], False)
    if tied.any():
        rows = order[tied]
        order[tied] = rows[np.lexsort([_sortable(key[rows]) for key in reversed(keys)])]
    return np.asarray(order, dtype=np.int64)


def repeated(order: Indices, keys: Sequence[Values]) -> Indices:
    """The rows that equal the one before in all keys, by an order that brings equals together."""
    places = np.flatnonzero(_like_the_one_before(keys[0][order]))
    for key in keys[1:]:
        places = places[key[order[places]] == key[order[places - 1]]]
    return np.asarray(order[places], dtype=np.int64)


def _key(column: "pd.Series[Any]") -> Values:
    """Numbers and texts as they are, categories as their places in order."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column.to_numpy()
    place = np.argsort(np.argsort(column.cat.categories.to_numpy())).astype(np.int32)
    return np.asarray(place[column.cat.codes.to_numpy()])


def _like_the_one_before(values: Values) -> Mask:
    return np.append(False, values[1:] == values[:-1])[: len(values)]


def _sortable(values: Values) -> Values:
    """Numbers as they are, texts as their places in order."""
    return values if values.dtype != object else np.asarray(pd.factorize(values, sort=True)[0])


def checked(parts: Parts, twice: Mapping[str, int]) -> tuple[Parts, int, list[Note]]:
    """The parts with each event once and closed, and without those of impossible times.

    How many ranges were never closed, which end with the capture, and notes of what was left out.
    twice: of parts in which no event is looked for twice, how many are known to stand there again.
    """
    once = {n: rows if n in twice else _once(rows) for n, rows in parts.items()}
    possible = _possible(once)
    ranges = possible["ranges"]
    never = ranges["end_ns"] == NEVER
    if never.any():
        last = max(int(_ends(rows).max(initial=-NEVER)) for rows in possible.values())
        end = ranges["end_ns"].mask(never, np.maximum(ranges["start_ns"], last))
        possible["ranges"] = ranges.assign(end_ns=end)
    again = {n: len(rows) - len(once[n]) + twice.get(n, 0) for n, rows in parts.items()}
    lost = {n: len(rows) - len(possible[n]) for n, rows in once.items()}
    left_out = ((TWICE, again), (IMPOSSIBLE, lost))
    notes = [Note(code, each[n], WHAT[n]) for code, each in left_out for n in parts if each[n]]
    return possible, int(never.sum()), notes


def _once(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows without those that equal another one in all columns."""
    keys = [_key(rows[name]) for name in sorted(rows, key=lambda name: name != "start_ns")]
    first = np.ones(len(rows), dtype=bool)
    first[repeated(in_order(keys), keys)] = False
    return rows_where(rows, first)


def _ends(rows: pd.DataFrame) -> Indices:
    """When events end, or begin where they were not closed."""
    return np.asarray(rows["end_ns"].mask(rows["end_ns"] == NEVER, rows["start_ns"]))


def _possible(parts: Parts) -> Parts:
    """The events within a day of the median of what the host did, by what is known of it; and work
    only around calls."""
    hosts = [rows["start_ns"] for name, rows in parts.items() if name != "work"]
    middle = _middle(hosts)
    found = Parts()
    for name, rows in parts.items():
        at = middle if middle is not None else _middle([rows["start_ns"]])
        first, last = ((at or 0) - LONGEST_NS, (at or 0) + LONGEST_NS)
        if name == "work" and len(calls := found["calls"]):
            first, last = calls["start_ns"].min() - QUEUED_NS, _ends(calls).max() + QUEUED_NS
        outside = (rows["start_ns"].to_numpy() < first) | (_ends(rows) > last)
        found[name] = rows_where(rows, ~outside)
    return found


def _middle(starts: Sequence["pd.Series[int]"]) -> int | None:
    """The median start of some events (ns), None without any."""
    samples = [each.to_numpy()[:: max(1, len(each) // SAMPLE)] for each in starts]
    every = np.sort(np.concatenate(samples))
    return int(every[len(every) // 2]) if len(every) else None
