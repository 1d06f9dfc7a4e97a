"""Reads a trace of torch.profiler of any program.

Where no device worked, operators take the place of its activities, each with the time that it
didn't spend in operators that it called.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import (
    COPY,
    HELD,
    KERNEL,
    OPERATOR,
    RANGES,
    SET,
    UNKNOWN,
    WORK,
    Capture,
    frame,
    noted,
    printable,
)
from workflow_src.captures.domains import torch_domain
from workflow_src.captures.events import Event, events, integer, nanoseconds
from workflow_src.captures.launches import SHARED, Calls, launches
from workflow_src.captures.nesting import tree
from workflow_src.traces.attribution import NOWHERE
from workflow_src.traces.intervals import Indices
from workflow_src.traces.ledger import BLOCKING
from workflow_src.traces.trace import API, OVERHEAD, PAGEABLE_COPY

KINDS = {"kernel": KERNEL, "gpu_memcpy": COPY, "gpu_memset": SET, "memcpy": COPY, "memset": SET}
CALLS = frozenset(("cuda_runtime", "cuda_driver", "runtime", "driver", "hip_runtime"))
OPERATORS = frozenset(("cpu_op", "operator"))
OVERHEADS = frozenset(("overhead",))
PAGEABLE = "Pageable"
"""Found in names of copies from or to host memory that isn't pinned."""
RANGE = "user_annotation"
PARTS = ("range", "work", "call", "operator", "overhead")


@dataclass(frozen=True)
class _Timed:
    """Events with valid times; `bad`: how many others there were."""

    rows: list[Event]
    start: Indices
    end: Indices
    bad: int

    def integers(self, name: str) -> Indices:
        return np.array([integer(getattr(row, name)) for row in self.rows], dtype=np.int64)

    def names(self) -> npt.NDArray[np.object_]:
        known: dict[object, str] = {}
        texts = [
            known.setdefault(row.name, printable(row.name)) if isinstance(row.name, str) else
            "(no name)" for row in self.rows
        ]  # fmt: skip
        return np.array(texts, dtype=object)


def _timed(rows: list[Event]) -> _Timed:
    starts = [nanoseconds(row.start) for row in rows]
    lengths = [nanoseconds(row.duration) for row in rows]
    good = [
        start is not None and length is not None and length >= 0
        for start, length in zip(starts, lengths, strict=True)
    ]
    kept = [row for row, is_good in zip(rows, good, strict=True) if is_good]
    times = [
        (start, start + length)
        for start, length in zip(starts, lengths, strict=True)
        if start is not None and length is not None and length >= 0
    ]
    array = np.array(times, dtype=np.int64).reshape(-1, 2)
    return _Timed(kept, array[:, 0], array[:, 1], len(rows) - len(kept))


def read(text: str, whole: bool) -> Capture:
    """The capture in a trace; `whole`: not cut off already. Raises TraceError."""
    found = events(text, {*KINDS, *CALLS, *OPERATORS, *OVERHEADS, RANGE})
    parts: dict[str, list[Event]] = {name: [] for name in PARTS}
    for event in found.rows:
        parts[_part(event.category)].append(event)
    ranges, calls = _timed(parts["range"]), _timed(parts["call"])
    on_device = bool(parts["work"])
    work = _timed(parts["work"] if on_device else parts["operator"])
    rows, shared = _device_rows(work, calls, ranges) if on_device else (_operator_rows(work), 0)
    notes = noted(
        bad_ranges=ranges.bad,
        bad_work=work.bad,
        bad_calls=calls.bad,
        bad_events=found.bad,
        cut_off=int(found.cut_off or not whole),
        several_processes=shared,
    )
    table = frame(WORK, rows)
    total = int(table["duration_ns"].sum())
    waits = _held(calls, work, _timed(parts["overhead"]))
    return Capture("torch", "", frame(RANGES, _range_rows(ranges)), table, total, waits, notes)


def _part(category: str) -> str:
    """What an event of one of the categories is."""
    if category in KINDS:
        return "work"
    if category in CALLS:
        return "call"
    if category in OVERHEADS:
        return "overhead"
    return "range" if category == RANGE else "operator"


def _held(calls: _Timed, work: _Timed, overheads: _Timed) -> pd.DataFrame:
    """What held the host up, with HELD: waiting calls, and the profiler's overhead."""
    names, numbers = calls.names(), calls.integers("correlation")
    copies = [PAGEABLE in name for name in work.names()]
    copying = np.isin(numbers, work.integers("correlation")[copies]) & (numbers != UNKNOWN)
    waiting = pd.Series(names, dtype=object).str.contains(BLOCKING).to_numpy(dtype=bool)
    parts = [
        _held_rows(calls, API, waiting & ~copying),
        _held_rows(calls, PAGEABLE_COPY, copying),
        _held_rows(overheads, OVERHEAD, np.ones(len(overheads.rows), dtype=bool)),
    ]
    return pd.concat(parts, ignore_index=True)


def _held_rows(calls: _Timed, kind: str, which: npt.NDArray[np.bool_]) -> pd.DataFrame:
    columns: dict[str, object] = {
        "kind": np.full(int(which.sum()), kind, dtype=object),
        "name": calls.names()[which],
        "start_ns": calls.start[which],
        "end_ns": calls.end[which],
        "process": calls.integers("process")[which],
        "thread": calls.integers("thread")[which],
    }
    return frame(HELD, columns)


def _range_rows(ranges: _Timed) -> dict[str, object]:
    names = ranges.names()
    return {
        "name": names,
        "domain": np.array([torch_domain(name) for name in names], dtype=object),
        "start_ns": ranges.start,
        "end_ns": ranges.end,
        "process": ranges.integers("process"),
        "thread": ranges.integers("thread"),
    }


def _device_rows(work: _Timed, calls: _Timed, ranges: _Timed) -> tuple[dict[str, object], int]:
    """A device's activities with their launches, and of how many the process can't be known.

    An activity's event names its device, not its process: that is its launch's.
    """
    number, of_call = work.integers("correlation"), calls.integers("correlation")
    callers = calls.integers("process")
    process, shared = _processes(number, of_call, callers, ranges.integers("process"))
    called = Calls(calls.start, calls.end, callers, calls.integers("thread"), of_call)
    launched = launches(process, number, called)
    kinds = np.array([KINDS[row.category] for row in work.rows], dtype=object)
    device, stream = work.integers("device"), work.integers("stream")
    rows = _rows(work, kinds, process) | {
        "device": np.where(device == UNKNOWN, work.integers("process"), device),
        "stream": np.where(stream == UNKNOWN, work.integers("thread"), stream),
        "launch_ns": launched.start,
        "launch_end_ns": launched.end,
        "thread": launched.thread,
        "missing": np.where(shared, SHARED, launched.missing).astype(object),
    }
    return rows, int(shared.sum())


def _processes(
    number: Indices, of_call: Indices, callers: Indices, of_ranges: Indices
) -> tuple[Indices, npt.NDArray[np.bool_]]:
    """The process that launched each activity, and where calls of several have its number."""
    all_of_them = np.unique(np.concatenate([callers, of_ranges]))
    if len(all_of_them) == 1:
        return np.full(len(number), all_of_them[0]), np.zeros(len(number), dtype=bool)
    pairs = pd.DataFrame({"number": of_call, "process": callers}).drop_duplicates()
    counts = pairs.groupby("number")["process"].agg(["size", "first"]).reindex(number)
    one = (counts["size"] == 1).to_numpy() & (number != UNKNOWN)
    process = np.where(one, counts["first"].fillna(UNKNOWN), UNKNOWN).astype(np.int64)
    return process, (counts["size"] > 1).to_numpy() & (number != UNKNOWN)


def _operator_rows(operators: _Timed) -> dict[str, object]:
    """Operators as activities: the time of each minus that of the operators that it called."""
    process, thread = operators.integers("process"), operators.integers("thread")
    length = operators.end - operators.start
    own = length.copy()
    groups = pd.DataFrame({"process": process, "thread": thread}).groupby(["process", "thread"])
    for rows in groups.indices.values():
        parent = tree(operators.start[rows], operators.end[rows]).nesting.parent
        held = parent != NOWHERE
        np.subtract.at(own, rows[parent[held]], length[rows[held]])
    kinds = np.full(len(own), OPERATOR, dtype=object)
    return _rows(operators, kinds, process) | {
        "duration_ns": np.maximum(own, 0),
        "device": np.full(len(own), UNKNOWN),
        "stream": np.full(len(own), UNKNOWN),
        "launch_ns": operators.start,
        "launch_end_ns": operators.start,
        "thread": thread,
        "missing": np.full(len(own), "", dtype=object),
    }


def _rows(work: _Timed, kinds: npt.NDArray[np.object_], process: Indices) -> dict[str, object]:
    return {
        "kind": kinds,
        "name": work.names(),
        "start_ns": work.start,
        "end_ns": work.end,
        "duration_ns": work.end - work.start,
        "process": process,
    }
