"""Reads an nsys export of any program, of nsys 2023.4 and later."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import (
    COPY,
    GRAPH,
    KERNEL,
    PAGEABLE,
    RANGES,
    SET,
    WORK,
    Capture,
    as_small,
    frame,
    joined_copies,
    noted,
)
from workflow_src.captures.exported import (
    COPY_KINDS,
    RUNTIME,
    WORK_TABLES,
    Columns,
    Exported,
    exported,
    table_notes,
    version,
)
from workflow_src.captures.launches import Launches, launches, that_launched
from workflow_src.captures.nsys_calls import NamedCalls, calls_table, read_calls, read_overheads
from workflow_src.captures.nsys_copies import COPIED, copies, labels
from workflow_src.captures.nsys_ranges import NEVER, Ranges, read_ranges
from workflow_src.captures.store import Store
from workflow_src.common.intervals import Indices, Integers

KINDS = {"KERNEL": KERNEL, "MEMCPY": COPY, "MEMSET": SET, "GRAPH_TRACE": GRAPH}
NAMED_BY = {"KERNEL": "demangledName", "MEMCPY": "copyKind", "GRAPH_TRACE": "graphId"}
TIMES = ("start", "end", "globalPid", "correlationId", "deviceId", "streamId")


@dataclass(frozen=True)
class _Part:
    """One table of device work: its columns and names, and how many rows were left out."""

    kind: str
    columns: Columns
    names: npt.NDArray[np.object_]
    copies: pd.DataFrame
    total_ns: int
    bad: int
    lost_names: int


@dataclass(frozen=True)
class _Launched:
    """All device work with its launches, and all calls.

    last: the latest end of an API call (ns); bad: how many calls were left out.
    """

    parts: list[_Part]
    launches: Launches
    calls: pd.DataFrame
    last: int
    bad: int


def read(store: Store) -> Capture:
    """The capture in an nsys export. Raises TraceError, or what reading the store raises."""
    found = exported(store)
    return _capture(found, _launched(found))


def _launched(found: Exported) -> _Launched:
    """The calls are read in another thread while this one reads all else of them."""
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(_calls_apart, found)
        parts = [_part(found, key) for key, table in WORK_TABLES.items() if found.has(table)]
        overheads = read_overheads(found)
        api = reading.result()
    calls = api.calls
    launched = launches(_column(parts, "globalPid") >> 24, _column(parts, "correlationId"), calls)
    bad = found.rows(RUNTIME) - len(calls.start) if found.has(RUNTIME) else 0
    last = int(calls.end.max(initial=-NEVER))
    table = calls_table(api, _pageable(parts, api), overheads)
    return _Launched(parts, launched, table, last, bad)


def _calls_apart(found: Exported) -> NamedCalls:
    with found.store.apart() as store:
        return read_calls(replace(found, store=store))


def _pageable(parts: list[_Part], api: NamedCalls) -> npt.NDArray[np.bool_]:
    """Which calls copied from or to host memory that isn't pinned."""
    process, number = [], []
    for part in parts:
        copying = (part.copies["source"] == PAGEABLE) | (part.copies["target"] == PAGEABLE)
        rows = part.copies.loc[copying, "work"].to_numpy()
        process.append(part.columns["globalPid"][rows] >> 24)
        number.append(part.columns["correlationId"][rows])
    none = [np.array([], dtype=np.int64)]
    return that_launched(np.concatenate(none + process), np.concatenate(none + number), api.calls)


def _column(parts: list[_Part], name: str) -> Indices:
    return np.concatenate([np.array([], dtype=np.int64), *(part.columns[name] for part in parts)])


def _capture(found: Exported, launched: _Launched) -> Capture:
    """The capture, its ranges read besides."""
    ranges, parts = read_ranges(found), launched.parts
    last = int(_column(parts, "end").max(initial=launched.last))
    unclosed = int((ranges.end == NEVER).sum())
    ranges = ranges.closed(max(last, _last(ranges)))
    shown = _shown([ranges.thread >> 24, _column(parts, "globalPid") >> 24])
    graphs = sum(len(part.names) for part in parts if part.kind == GRAPH)
    notes = noted(
        unclosed=unclosed,
        crossing=ranges.crossing,
        whole_graphs=graphs,
        bad_ranges=ranges.bad,
        bad_work=sum(part.bad for part in parts),
        bad_calls=launched.bad,
        lost_names=ranges.lost_names + sum(part.lost_names for part in parts),
    )
    return Capture(
        "nsys",
        version(found),
        frame(RANGES, _range_rows(ranges, shown)),
        frame(WORK, _work_rows(parts, launched.launches, shown)),
        sum(part.total_ns for part in parts),
        launched.calls.assign(process=_as_shown(launched.calls["process"].to_numpy(), shown)),
        joined_copies([(part.copies, len(part.names)) for part in parts]),
        notes + table_notes(found),
    )


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


def _part(found: Exported, key: str) -> _Part:
    """The valid rows of one table of device work."""
    table = WORK_TABLES[key]
    name_column = NAMED_BY.get(key)
    if key == "KERNEL" and not found.has_column(table, "demangledName"):
        name_column = "shortName"
    kind, named_by = KINDS[key], name_column or "value"
    wanted = dict.fromkeys((*TIMES, *COPIED.get(kind, ()), named_by))
    columns = found.timed(table, tuple(wanted))
    copied = copies(found, kind, columns)
    names, lost = _names(found, key, columns.pop(named_by), name_column)
    bad = found.rows(table) - len(names)
    return _Part(kind, columns, names, copied, found.duration_ns(table), bad, lost)


def _names(
    found: Exported, key: str, numbers: Indices, column: str | None
) -> tuple[npt.NDArray[np.object_], int]:
    """The name of each activity, and how many have only a number for one."""
    inverse, own = pd.factorize(numbers)
    known, lost = _known_names(found, key, column), f"({KINDS[key]} {{}})"
    if key == "GRAPH_TRACE":
        known = {number: f"CUDA graph {number}" for number in own.tolist()}
    if key == "MEMSET":
        known = dict.fromkeys(own.tolist(), "[CUDA memset]")
    texts = [known.get(number, lost.format(number)) for number in own.tolist()]
    is_lost = np.array([number not in known for number in own.tolist()], dtype=bool)
    return np.array(texts, dtype=object)[inverse], int(is_lost[inverse].sum())


def _known_names(found: Exported, key: str, column: str | None) -> dict[int, str]:
    if key == "KERNEL" and column:
        return found.texts(WORK_TABLES[key], column)
    if key == "MEMCPY":
        known = labels(found, COPY_KINDS)
        return {number: f"[CUDA memcpy {label}]" for number, label in known.items()}
    return {}


def _range_rows(ranges: Ranges, shown: dict[int, int]) -> dict[str, object]:
    return {
        "name": ranges.name,
        "domain": ranges.domain,
        "start_ns": ranges.start,
        "end_ns": ranges.end,
        "process": _as_shown(ranges.thread >> 24, shown),
        "thread": ranges.thread & 0xFFFFFF,
    }


def _work_rows(parts: list[_Part], launched: Launches, shown: dict[int, int]) -> dict[str, object]:
    """All device work, with its launches."""
    start, end = _column(parts, "start"), _column(parts, "end")
    empty = np.array([], dtype=object)
    kinds = np.array([part.kind for part in parts], dtype=object)
    return {
        "kind": np.repeat(kinds, [len(part.names) for part in parts]),
        "name": np.concatenate([empty, *(part.names for part in parts)]),
        "start_ns": start,
        "end_ns": end,
        "duration_ns": end - start,
        "process": _as_shown(_column(parts, "globalPid") >> 24, shown),
        "device": _column(parts, "deviceId"),
        "stream": _column(parts, "streamId"),
        "launch_ns": launched.start,
        "launch_end_ns": launched.end,
        "thread": launched.thread,
        "missing": launched.missing,
    }
