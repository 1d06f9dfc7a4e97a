"""Events as rows of a table: their order, each once, closed, and only at times that can be.

Profilers write durations that overflowed (TraceLens #669), timestamps of 0 (spark-rapids-jni #2255)
and, after a clock was set, times of another epoch.
"""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import IMPOSSIBLE, LATEST_NS, TWICE, Note
from workflow_src.common.intervals import Indices

Values = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Parts = dict[str, pd.DataFrame]
Spans = tuple[Indices, Indices]
"""Starts and ends (ns)."""

WHAT = {"calls": "API calls", "overheads": "overheads of the profiler", "work": "device activities"}

LONGEST_NS, QUEUED_NS = 86_400 * 10**9, 60 * 10**9
"""What is a day from the middle event isn't of the same capture. And a minute: work runs on after
the last call, but the host waits when 1,024 launches are in a device's queue."""

SAMPLE = 10_000
"""Events that the middle one is looked for among."""


def of_each(
    values: "pd.Series[Any] | Values", function: Callable[[Any], Any], kind: type = object
) -> Values:
    """What a function gives for each value, each different one asked once, as values of a kind."""
    number, different = pd.factorize(values)
    return np.array([*map(function, different), None], dtype=kind)[number]


def rows_where(table: pd.DataFrame, which: Mask) -> pd.DataFrame:
    """Some rows of a table; all of them take no memory of their own."""
    return table if which.all() else table[which]


def spans(rows: pd.DataFrame) -> Spans:
    """When rows begin and end (ns)."""
    return rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()


def checked(parts: Parts, doubled: Collection[str] = ()) -> tuple[Parts, list[Note]]:
    """The parts with each event closed, and without those of impossible times; notes of that.

    doubled: parts in which events may stand twice.
    """
    once = dict(parts)
    for name in {*doubled} & {*parts}:
        rows = parts[name]
        # Only where several share a start.
        some = rows[rows["start_ns"].duplicated(keep=False)]
        again = some.index[some.duplicated()]
        once[name] = rows.drop(again) if len(again) else rows
    possible = _possible(once)
    steps = ((TWICE, parts, once), (IMPOSSIBLE, once, possible))
    lost = [(code, n, len(some[n]) - len(left[n])) for code, some, left in steps for n in parts]
    ranges = possible["ranges"]
    never = ranges["end_ns"] == LATEST_NS
    if never.any():
        last = max(int(_ends(rows).max(initial=-LATEST_NS)) for rows in possible.values())
        end = ranges["end_ns"].mask(never, np.maximum(ranges["start_ns"], last))
        possible["ranges"] = ranges.assign(end_ns=end)
        lost.append(("unclosed", "ranges", int(never.sum())))
    return possible, [Note(code, n, WHAT.get(name, name)) for code, name, n in lost if n]


def _ends(rows: pd.DataFrame) -> Indices:
    return np.asarray(rows["end_ns"].mask(rows["end_ns"] == LATEST_NS, rows["start_ns"]))


def _possible(parts: Parts) -> Parts:
    """The events within a day of the median of what the host did, or else of work; and work only
    around calls."""
    hosts = [rows for name, rows in parts.items() if name != "work" and len(rows)]
    starts = [rows["start_ns"].to_numpy() for rows in hosts or parts.values()]
    sample = np.sort(np.concatenate([each[:: len(each) // SAMPLE + 1] for each in starts]))
    middle = int(sample[len(sample) // 2]) if len(sample) else 0
    found = Parts()
    for name, rows in parts.items():
        first, last = middle - LONGEST_NS, middle + LONGEST_NS
        if name == "work" and len(calls := found["calls"]):
            first, last = calls["start_ns"].min() - QUEUED_NS, _ends(calls).max() + QUEUED_NS
        outside = (rows["start_ns"].to_numpy() < first) | (_ends(rows) > last)
        found[name] = rows_where(rows, ~outside)
    return found
