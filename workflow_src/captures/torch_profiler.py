"""Reads a trace of torch.profiler of any program.

Where no device worked, operators take the place of its activities, each with the time that it
didn't spend in operators that it called.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.call_kinds import BLOCKING
from workflow_src.captures.capture import (
    API,
    HELD,
    OPERATOR,
    OVERHEAD,
    PAGEABLE_COPY,
    RANGES,
    UNKNOWN,
    WORK,
    Capture,
    Note,
    frame,
    noted,
)
from workflow_src.captures.domains import torch_domain
from workflow_src.captures.event_checks import checked
from workflow_src.captures.event_columns import Columns
from workflow_src.captures.event_parts import KINDS, read_parts
from workflow_src.captures.launches import SHARED, Calls, launches
from workflow_src.captures.self_times import operator_calls
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE, tree

PAGEABLE = "Pageable"
"""Found in names of copies from or to host memory that isn't pinned."""


def read(path: Path) -> Capture:
    """The capture in a trace. Raises TraceError if it isn't one."""
    found = read_parts(path, ("range", "call", "overhead", "work"))
    on_device = found.columns["work"].count > 0
    if not on_device:
        found = read_parts(path, ("range", "call", "overhead", "operator"))
    if not any(columns.count for columns in found.columns.values()):
        raise TraceError(_nothing(found.unread))
    columns, checks = checked(found.columns)
    ranges, calls, overheads, work = columns.values()
    rows, numbers = _device_rows(work, calls, ranges) if on_device else (_operator_rows(work), {})
    notes = noted(
        bad_ranges=ranges.bad,
        bad_work=work.bad,
        bad_calls=calls.bad,
        endless_calls=calls.endless,
        bad_events=found.bad + found.stray,
        cut_off=int(found.cut_off),
        **numbers,
    )
    unread = [Note("unread events", n, name or "no category") for name, n in found.unread.items()]
    notes += (*checks, *unread)
    table = frame(WORK, rows)
    total, waits = int(table["duration_ns"].sum()), _held(calls, work, overheads)
    return Capture("torch", "", frame(RANGES, _range_rows(ranges)), table, total, waits, notes)


def _nothing(unread: Mapping[str, int]) -> str:
    """Why a trace without any event that is read can't be."""
    if "" in unread:
        return (
            f"its {unread['']} events have no category, so another profiler wrote it, such as "
            "TensorFlow's or JAX's; capture the program with nsys instead: "
            "nsys profile -t cuda,nvtx"
        )
    return (
        "it holds no event of torch.profiler that takes time; record CPU and CUDA activities, or "
        "copy it again"
    )


def _held(calls: Columns, work: Columns, overheads: Columns) -> pd.DataFrame:
    """What held the host up, with HELD: waiting calls, and the profiler's overhead."""
    names, numbers = calls.names, calls.numbers["correlation"]
    copies = [PAGEABLE in name for name in work.names]
    copying = np.isin(numbers, work.numbers["correlation"][copies]) & (numbers != UNKNOWN)
    waiting = pd.Series(names, dtype=object).str.contains(BLOCKING).to_numpy(dtype=bool)
    parts = [
        _held_rows(calls, API, waiting & ~copying),
        _held_rows(calls, PAGEABLE_COPY, copying),
        _held_rows(overheads, OVERHEAD, np.ones(len(overheads.start), dtype=bool)),
    ]
    return pd.concat(parts, ignore_index=True)


def _held_rows(calls: Columns, kind: str, which: npt.NDArray[np.bool_]) -> pd.DataFrame:
    columns: dict[str, object] = {
        "kind": np.full(int(which.sum()), kind, dtype=object),
        "name": calls.names[which],
        "start_ns": calls.start[which],
        "end_ns": calls.end[which],
        "process": calls.numbers["process"][which],
        "thread": calls.numbers["thread"][which],
    }
    return frame(HELD, columns)


def _range_rows(ranges: Columns) -> dict[str, object]:
    names = ranges.names
    return {
        "name": names,
        "domain": np.array([torch_domain(name) for name in names], dtype=object),
        "start_ns": ranges.start,
        "end_ns": ranges.end,
        "process": ranges.numbers["process"],
        "thread": ranges.numbers["thread"],
    }


def _device_rows(
    work: Columns, calls: Columns, ranges: Columns
) -> tuple[dict[str, object], dict[str, int]]:
    """A device's activities with their launches, and of how many numbers are of several launches.

    An activity's event names its device, not its process: that is its launch's.
    """
    number, of_call = work.numbers["correlation"], calls.numbers["correlation"]
    callers = calls.numbers["process"]
    process, shared = _processes(number, of_call, callers, ranges.numbers["process"])
    called = Calls(calls.start, calls.end, callers, calls.numbers["thread"], of_call)
    launched = launches(process, number, work.start, called, complete=not calls.bad)
    kinds = np.array([KINDS[name] for name in work.categories], dtype=object)
    device, stream = work.numbers["device"], work.numbers["stream"]
    rows: dict[str, object] = _rows(work, kinds, process) | {
        "device": np.where(device == UNKNOWN, work.numbers["process"], device),
        "stream": np.where(stream == UNKNOWN, work.numbers["thread"], stream),
        "launch_ns": launched.start,
        "launch_end_ns": launched.end,
        "thread": launched.thread,
        "missing": np.where(shared, SHARED, launched.missing).astype(object),
    }
    return rows, {"several_processes": int(shared.sum()), "reused_numbers": launched.reused}


def _processes(
    number: Indices, of_call: Indices, callers: Indices, of_ranges: Indices
) -> tuple[Indices, npt.NDArray[np.bool_]]:
    """The process that launched each activity, and where calls of several have its number."""
    all_of_them = pd.unique(np.concatenate([callers, of_ranges]))
    if len(all_of_them) == 1:
        return np.full(len(number), all_of_them[0]), np.zeros(len(number), dtype=bool)
    pairs = pd.DataFrame({"number": of_call, "process": callers}).drop_duplicates()
    counts = pairs.groupby("number")["process"].agg(["size", "first"]).reindex(number)
    one = (counts["size"] == 1).to_numpy() & (number != UNKNOWN)
    process = np.where(one, counts["first"].fillna(UNKNOWN), UNKNOWN).astype(np.int64)
    return process, (counts["size"] > 1).to_numpy() & (number != UNKNOWN)


def _operator_rows(operators: Columns) -> dict[str, object]:
    """Operators as activities: the time of each minus that of the operators that it called."""
    process, thread = operators.numbers["process"], operators.numbers["thread"]
    start, end = operators.start, operators.end
    parent = np.full(len(start), NOWHERE)
    groups = pd.DataFrame({"process": process, "thread": thread}).groupby(["process", "thread"])
    for rows in groups.indices.values():
        parent[rows] = np.append(rows, NOWHERE)[tree(start[rows], end[rows]).nesting.parent]
    made = operator_calls(operators.names.tolist(), start, end, parent)
    unknown = np.full(len(start), UNKNOWN)
    every = _rows(operators, np.full(len(start), OPERATOR, dtype=object), process) | {
        "duration_ns": np.maximum(made.self_ns, 0),
        "device": unknown,
        "stream": unknown,
        "launch_ns": start,
        "launch_end_ns": start,
        "thread": thread,
        "missing": np.full(len(start), "", dtype=object),
    }
    return {name: values[made.first] for name, values in every.items()}


def _rows(
    work: Columns, kinds: npt.NDArray[np.object_], process: Indices
) -> dict[str, npt.NDArray[Any]]:
    return {
        "kind": kinds,
        "name": work.names,
        "start_ns": work.start,
        "end_ns": work.end,
        "duration_ns": work.end - work.start,
        "process": process,
    }
