"""Reads a trace of torch.profiler of any program.

Where nothing was launched, operators take the place of a device's activities, each with the time
that it didn't spend in operators that it called. A trace with launches whose kernels were lost has
no activities, nor has one that is cut off before any: kernels come last.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.call_kinds import launches_work
from workflow_src.captures.capture import (
    API,
    COPY,
    OPERATOR,
    OVERHEAD,
    PAGEABLE,
    PAGEABLE_COPY,
    RANGES,
    SET,
    UNKNOWN,
    UNKNOWN_TEXT,
    WORK,
    Capture,
    Note,
    calls_frame,
    coded,
    copies_frame,
    frame,
    noted,
)
from workflow_src.captures.domains import torch_domain
from workflow_src.captures.event_checks import checked
from workflow_src.captures.event_columns import FIRST_TEXT, Columns
from workflow_src.captures.event_parts import KINDS, read_parts
from workflow_src.captures.launches import SHARED, Calls, counted, launches
from workflow_src.captures.merged import told_apart
from workflow_src.captures.recording import Recording
from workflow_src.captures.self_times import operator_calls
from workflow_src.captures.stream_waits import stream_waits
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE, tree

COPIED = re.compile(r"Memcpy (?P<direction>\w+) \((?P<source>\w+) -> (?P<target>\w+)\)")
"""The name of a copy, as CUPTI's activities are named: Memcpy HtoD (Pageable -> Device)."""

FILLED = re.compile(r"Memset \((?P<target>\w+)\)")


BY_TORCH = Recording("torch")


@dataclass(frozen=True)
class _Done:
    """Device work as rows; how many numbers of launches several processes share, and how many
    several launches of one; and what is known of the launches."""

    rows: dict[str, object]
    shared: int = 0
    reused: int = 0
    recording: Recording = BY_TORCH


def read(path: Path) -> Capture:
    """The capture in a trace. Raises TraceError if it isn't one."""
    found = read_parts(path, ("range", "call", "overhead", "work"))
    launching = launches_work(pd.Categorical(found.columns["call"].names)).any()
    # What isn't read may be the work of another vendor's device: operators aren't all, then.
    on_device = any((found.columns["work"].count, launching, found.unread, found.cut_off))
    if not on_device:
        found = read_parts(path, ("range", "call", "overhead", "operator"))
    if not any(columns.count for columns in found.columns.values()):
        raise TraceError(_nothing(found.unread))
    once, checks = checked(found.columns)
    columns, named = told_apart(once, found.texts)
    ranges, calls, overheads, work = columns.values()
    done = _device_rows(work, calls, ranges) if on_device else _Done(_operator_rows(work))
    notes = noted(
        bad_ranges=ranges.bad,
        bad_work=work.bad,
        bad_calls=calls.bad,
        endless_calls=calls.endless,
        bad_events=found.bad + found.stray,
        cut_off=int(found.cut_off),
        several_processes=done.shared,
        reused_numbers=done.reused,
    )
    unread = [Note("unread events", n, name or "no category") for name, n in found.unread.items()]
    notes += (*checks, *unread)
    table = frame(WORK, done.rows)
    copies = _copies(table, work.numbers["bytes"]) if on_device else copies_frame({})
    every = _calls(calls, _pageable(copies, work), overheads)
    total, spans = int(table["duration_ns"].sum()), frame(RANGES, _range_rows(ranges))
    threads = replace(found.ties.threads, waits=_waits(found.ties.waits, calls, ranges))
    return named.of(Capture(spans, table, total, every, copies, threads, notes, done.recording))


def _nothing(unread: Mapping[str, int]) -> str:
    """Why a trace without any event that is read can't be."""
    if unread:
        names = ", ".join(name or "no category" for name in unread)
        return (
            f"what may be work, {sum(unread.values())} events of {names}, isn't read here, so "
            "another profiler wrote it, such as TensorFlow's, JAX's or another vendor's; on an "
            "NVIDIA GPU capture with nsys: nsys profile -t cuda,nvtx"
        )
    return (
        "it holds no event of torch.profiler that takes time; record CPU and CUDA activities, or "
        "copy it again"
    )


def _copies(work: pd.DataFrame, size: Indices) -> pd.DataFrame:
    """Copies and sets, by their names; size: the bytes of all work."""
    row = np.flatnonzero(work["kind"].isin((COPY, SET)))
    code, names = pd.factorize(work["name"].to_numpy()[row])
    ends = [_ends(name) for name in names]
    columns: dict[str, object] = {
        column: coded(code, [each[n] for each in ends])
        for n, column in enumerate(("direction", "source", "target"))
    }
    return copies_frame({"work": row, "bytes": size[row]} | columns)


def _ends(name: str) -> tuple[str, str, str]:
    """The direction of a copy or set, and the memories that it is from and to, by its name."""
    if found := COPIED.match(name):
        return found["direction"], found["source"].lower(), found["target"].lower()
    if found := FILLED.match(name):
        return SET, UNKNOWN_TEXT, found["target"].lower()
    return UNKNOWN_TEXT, UNKNOWN_TEXT, UNKNOWN_TEXT


def _pageable(copies: pd.DataFrame, work: Columns) -> Indices:
    """The numbers of copies from or to host memory that isn't pinned."""
    rows = copies.loc[(copies["source"] == PAGEABLE) | (copies["target"] == PAGEABLE), "work"]
    numbers = work.numbers["correlation"][rows.to_numpy()]
    return np.asarray(numbers[numbers != UNKNOWN])


def _calls(calls: Columns, pageable: Indices, overheads: Columns) -> pd.DataFrame:
    """All API calls, those that copied pageable memory told apart, and the profiler's overhead."""
    copying = np.isin(calls.numbers["correlation"], pageable)
    kinds = np.where(copying, PAGEABLE_COPY, API).astype(object)
    both = Columns.joined([calls, overheads])
    numbers = {"start_ns": both.start, "end_ns": both.end} | both.numbers
    kinds = np.append(kinds, np.full(len(overheads.start), OVERHEAD, dtype=object))
    return calls_frame(kinds, both.names, numbers)


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


def _device_rows(work: Columns, calls: Columns, ranges: Columns) -> _Done:
    """A device's activities with their launches.

    An activity's event names its device, not its process: that is its launch's.
    """
    number, of_call = work.numbers["correlation"], calls.numbers["correlation"]
    callers = calls.numbers["process"]
    process, shared = _processes(number, of_call, callers, ranges.numbers["process"])
    # Where ranks were merged, a device is one's.
    process = np.where(work.numbers["process"] < FIRST_TEXT, process, work.numbers["process"])
    called = _called(calls)
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
    made, lost = counted(pd.Categorical(calls.names), called, launched)
    recording = Recording("torch", launches=made, unanswered=lost)
    return _Done(rows, int(shared.sum()), launched.reused, recording)


def _called(calls: Columns) -> Calls:
    numbers = (calls.numbers[name] for name in ("process", "thread", "correlation"))
    return Calls(calls.start, calls.end, *numbers)


def _waits(waits: pd.DataFrame, calls: Columns, ranges: Columns) -> pd.DataFrame:
    """Which streams waited for which record; the process is that of the call that made them."""
    numbers = calls.numbers
    process, _ = _processes(
        waits["number"].to_numpy(),
        numbers["correlation"],
        numbers["process"],
        ranges.numbers["process"],
    )
    return stream_waits(waits.assign(process=process), _called(calls))


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
