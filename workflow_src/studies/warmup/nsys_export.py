"""Reads nsys's SQLite export of first steps into what a point keeps: its steps and CUDA calls.

Nothing is derived here, so that a change of the analysis measures nothing again.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from workflow_src.common.errors import TraceError
from workflow_src.studies.study import Row

_RANGES = """
SELECT coalesce(n.text, s.value), n.start, n.end
FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId
WHERE n.eventType = 59 AND n.domainId = 0 AND n.end IS NOT NULL ORDER BY n.start, n.end DESC
"""
"""Ranges that a thread pushed and popped (59), in the default domain."""

_CALLS = """
SELECT r.globalTid, r.start, r.end, coalesce(s.value, ''), r.correlationId
FROM CUPTI_ACTIVITY_KIND_RUNTIME r LEFT JOIN StringIds s ON s.id = r.nameId
ORDER BY r.globalTid, r.start, r.end DESC
"""

_KERNELS = """
SELECT k.correlationId, s.value
FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName
"""

Call = tuple[int, int, int, str, tuple[str, ...]]
"""A CUDA call: its thread, its start and end (ns), its name, the kernels that it launched."""


def recorded(database: Path, phases: Sequence[str]) -> Row:
    """The steps and all CUDA calls in an export of one process; raises TraceError.

    Times are ns on the host's clock since the start of the first step. steps: by phase, start and
    end of each. calls: each different call, with its name and the names of the kernels that it
    launched. threads: of each thread, its calls in order of start, as equally long lists, because
    there are tens of thousands: call (an index in calls), later_ns (its start, since the start of
    the thread's call before; of the first, since the start of the first step) and took_ns.
    """
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            ranges = list(_outermost(connection.execute(_RANGES)))
            calls = _calls(connection)
    except sqlite3.Error as error:
        raise TraceError(f"nsys's export of the first steps can't be read ({error})") from error
    steps = [step for step in ranges if step[0] in phases]
    origin = steps[0][1] if steps else 0
    of_phase = {
        phase: [[start - origin, end - origin] for name, start, end in steps if name == phase]
        for phase in phases
    }
    return {"steps": of_phase} | _compact(calls, origin)


def _outermost(ranges: Iterable[tuple[str, int, int]]) -> Iterator[tuple[str, int, int]]:
    """The ranges that lie in no other; the model emits ranges of its own inside a step."""
    until = -1
    for name, start, end in ranges:
        if start >= until:
            yield name, start, end
            until = end


def _calls(connection: sqlite3.Connection) -> list[Call]:
    """All calls by thread, in order of start; of those that start together, the longest first."""
    launched: dict[int, list[str]] = {}
    for correlation, name in connection.execute(_KERNELS):
        launched.setdefault(correlation, []).append(name)
    return [
        (thread, start, end, name, tuple(launched.get(correlation, ())))
        for thread, start, end, name, correlation in connection.execute(_CALLS)
    ]


def _compact(calls: Sequence[Call], origin: int) -> Row:
    """`calls` and `threads` of `recorded`."""
    places: dict[tuple[str, tuple[str, ...]], int] = {}
    threads = []
    for _, mine in groupby(calls, key=itemgetter(0)):
        columns: dict[str, list[int]] = {"call": [], "later_ns": [], "took_ns": []}
        before = origin
        for _, start, end, name, kernels in mine:
            columns["call"].append(places.setdefault((name, kernels), len(places)))
            columns["later_ns"].append(start - before)
            columns["took_ns"].append(end - start)
            before = start
        threads.append(columns)
    different = [{"name": name, "kernels": list(kernels)} for name, kernels in places]
    return {"calls": different, "threads": threads}
