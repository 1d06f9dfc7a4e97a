"""Reads an nsys export of any program, of nsys 2023.4 and later."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import (
    GRAPH,
    IMPOSSIBLE,
    PAGEABLE,
    RANGES,
    THREADS,
    UNKNOWN,
    WORK,
    Capture,
    Note,
    Threads,
    as_small,
    empty,
    frame,
    joined_copies,
    left_out_notes,
    noted,
)
from workflow_src.captures.exported import Exported, exported, table_notes
from workflow_src.captures.launches import Launches, launches, that_launched
from workflow_src.captures.nsys_calls import NamedCalls, calls_table, read_calls, read_overheads
from workflow_src.captures.nsys_ranges import NEVER, Ranges, read_ranges
from workflow_src.captures.nsys_recording import recording
from workflow_src.captures.nsys_work import Worked, column, read_work
from workflow_src.captures.plausible import Window, of_work, window
from workflow_src.captures.recording import Recording
from workflow_src.captures.store import Store
from workflow_src.captures.stream_waits import nsys_waits
from workflow_src.common.intervals import Indices, Integers


@dataclass(frozen=True)
class _Launched:
    """All device work with its launches, all calls, and which streams waited for which record.

    last: the latest end of a call (ns); lost: how many calls were left out or have no end, by the
    notes that say so; possible: when calls and work can have been.
    """

    parts: list[Worked]
    launches: Launches
    calls: pd.DataFrame
    waits: pd.DataFrame
    last: int
    lost: Mapping[str, int]
    recording: Recording
    possible: Window | None


def read(store: Store) -> Capture:
    """The capture in an nsys export. Raises TraceError, or what reading the store raises."""
    found = exported(store)
    return _capture(found, _launched(found))


def _launched(found: Exported) -> _Launched:
    """The calls are read in another thread while this one reads all else of them."""
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(_calls_apart, found)
        parts = read_work(found)
        overheads = read_overheads(found)
        api = reading.result()
    possible = window([api.calls.start] if len(api.calls.start) else [column(parts, "start")])
    if possible:
        api = api.within(possible)
        parts = [part.within(of_work(api.calls.start, api.calls.end, possible)) for part in parts]
    calls, process = api.calls, column(parts, "globalPid") >> 24
    number, begun = column(parts, "correlationId"), column(parts, "start")
    launched = launches(process, number, begun, calls, complete=not api.bad + api.impossible)
    table = calls_table(api, _pageable(parts, api), overheads)
    last, made = int(calls.end.max(initial=-NEVER)), recording(found, api, launched)
    lost = {"bad": api.bad, "endless": api.endless, IMPOSSIBLE: api.impossible}
    waits = nsys_waits(found, calls)
    return _Launched(parts, launched, table, waits, last, lost, made, possible)


def _calls_apart(found: Exported) -> NamedCalls:
    with found.store.apart() as store:
        return read_calls(replace(found, store=store))


def _pageable(parts: list[Worked], api: NamedCalls) -> npt.NDArray[np.bool_]:
    """Which calls copied from or to host memory that isn't pinned."""
    process, number = [], []
    for part in parts:
        copying = (part.copies["source"] == PAGEABLE) | (part.copies["target"] == PAGEABLE)
        rows = part.copies.loc[copying, "work"].to_numpy()
        process.append(part.columns["globalPid"][rows] >> 24)
        number.append(part.columns["correlationId"][rows])
    none = [np.array([], dtype=np.int64)]
    return that_launched(np.concatenate(none + process), np.concatenate(none + number), api.calls)


def _capture(found: Exported, launched: _Launched) -> Capture:
    """The capture, its ranges read besides."""
    ranges, parts = read_ranges(found), launched.parts
    if launched.possible:
        ranges = ranges.within(launched.possible)
    unclosed = int((ranges.end == NEVER).sum())
    last = int(column(parts, "end").max(initial=launched.last))
    ranges = ranges.closed(max(last, _last(ranges)))
    shown = _shown([ranges.thread >> 24, column(parts, "globalPid") >> 24])
    calls, waits = (
        rows.assign(process=_as_shown(rows["process"].to_numpy(), shown))
        for rows in (launched.calls, launched.waits)
    )
    return Capture(
        frame(RANGES, _range_rows(ranges, shown)),
        frame(WORK, _work_rows(parts, launched.launches, shown)),
        sum(part.total_ns for part in parts),
        calls,
        joined_copies([(part.copies, len(part.names)) for part in parts]),
        threads=Threads(_thread_names(found, shown), waits=waits),
        notes=_notes(ranges, unclosed, launched) + table_notes(found),
        recording=launched.recording,
    )


def _notes(ranges: Ranges, unclosed: int, launched: _Launched) -> tuple[Note, ...]:
    parts, lost = launched.parts, launched.lost
    left_out = {
        "ranges": (ranges.twice, ranges.impossible),
        "API calls": (0, lost[IMPOSSIBLE]),
        "device activities": (
            sum(part.twice for part in parts),
            sum(part.impossible for part in parts),
        ),
    }
    return noted(
        unclosed=unclosed,
        crossing=ranges.crossing,
        whole_graphs=sum(len(part.names) for part in parts if part.kind == GRAPH),
        bad_ranges=ranges.bad,
        bad_work=sum(part.bad for part in parts),
        bad_calls=lost["bad"],
        endless_calls=lost["endless"],
        reused_numbers=launched.launches.reused,
        lost_names=ranges.lost_names + sum(part.lost_names for part in parts),
    ) + left_out_notes(left_out)


def _last(ranges: Ranges) -> int:
    """The latest time (ns) of a range."""
    ends = np.where(ranges.end == NEVER, ranges.start, ranges.end)
    return int(ends.max(initial=-NEVER))


def _shown(processes: list[Indices]) -> dict[int, int]:
    """The number to show for each process: its id or, where two have the same, nsys's own."""
    own = np.sort(pd.unique(np.concatenate(processes)))
    ids, counts = np.unique(own & 0xFFFFFF, return_counts=True)
    alone = set(ids[counts == 1].tolist())
    return {n: n & 0xFFFFFF if n & 0xFFFFFF in alone and n >= 0 else n for n in own.tolist()}


def _as_shown(processes: Integers, shown: dict[int, int]) -> Integers:
    """Processes by the numbers to show; one with neither ranges nor work keeps nsys's own."""
    inverse, own = pd.factorize(processes)
    return as_small(np.array([shown.get(n, n) for n in own.tolist()], dtype=np.int64))[inverse]


def _range_rows(ranges: Ranges, shown: dict[int, int]) -> dict[str, object]:
    return {
        "name": ranges.name,
        "domain": ranges.domain,
        "start_ns": ranges.start,
        "end_ns": ranges.end,
        "process": _as_shown(ranges.thread >> 24, shown),
        "thread": ranges.thread & 0xFFFFFF,
    }


def _work_rows(parts: list[Worked], launched: Launches, shown: dict[int, int]) -> dict[str, object]:
    """All device work, with its launches."""
    start, end = column(parts, "start"), column(parts, "end")
    empty = np.array([], dtype=object)
    kinds = np.array([part.kind for part in parts], dtype=object)
    return {
        "kind": np.repeat(kinds, [len(part.names) for part in parts]),
        "name": np.concatenate([empty, *(part.names for part in parts)]),
        "start_ns": start,
        "end_ns": end,
        "duration_ns": end - start,
        "process": _as_shown(column(parts, "globalPid") >> 24, shown),
        "device": column(parts, "deviceId"),
        "stream": column(parts, "streamId"),
        "launch_ns": launched.start,
        "launch_end_ns": launched.end,
        "thread": launched.thread,
        "missing": launched.missing,
    }


def _thread_names(found: Exported, shown: dict[int, int]) -> pd.DataFrame:
    """The names of the threads of some processes, with THREADS; nsys lists all of the host.

    shown: the number to show for each process, by nsys's own.
    """
    if not found.has_columns("ThreadNames", "nameId", "globalTid"):
        return empty(THREADS)
    rows = found.integers("ThreadNames", ("nameId", "globalTid"))
    number, thread = rows["nameId"], rows["globalTid"]
    own = np.isin(thread >> 24, list(shown)) & (thread != UNKNOWN)
    texts = found.texts(number[own])
    columns = {
        "process": [shown[process] for process in (thread[own] >> 24).tolist()],
        "thread": thread[own] & 0xFFFFFF,
        "name": [texts.get(name, "") for name in number[own].tolist()],
    }
    return frame(THREADS, columns)
