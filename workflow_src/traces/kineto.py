"""Reads the Chrome trace of torch.profiler (Kineto) without losing a nanosecond.

On a CPU the activities are operators with their self time; on a CUDA device they are kernels,
copies and sets, and `operator` names the aten operator that launched each.
"""

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.captures.capture import API, OVERHEAD, PAGEABLE_COPY
from workflow_src.captures.self_times import operator_calls
from workflow_src.common.errors import TraceError, remake
from workflow_src.common.nesting import NOWHERE, nest
from workflow_src.common.reading import reading
from workflow_src.traces.trace import CALL_COLUMNS, Trace, no_rows, tidy_ranges

KINDS = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "set"}
CALLS = ("cuda_runtime", "cuda_driver")
_OF_LAUNCH = ("launch_ns", "launch_end_ns", "process", "thread")
FURTHEST_POWER = 30
"""Of ten, in a time in microseconds: beyond it, writing the digits out would take all memory."""

TORCHS_OWN = "#"
"""Found in names of ranges that torch itself emits: ProfilerStep#2, Optimizer.step#AdamW.step."""


def nanoseconds(microseconds: pd.Series) -> pd.Series:
    """Integer nanoseconds from microseconds as decimal text ("12.345" becomes 12345).

    Raises ValueError or decimal.InvalidOperation for what is no number.
    """
    text = microseconds.astype("str")
    powers = text.str.contains("e", case=False, regex=False)
    text = text.mask(powers, text[powers].map(_written_out))
    parts = text.str.partition(".")
    fraction = parts[2].str.slice(0, 3).str.ljust(3, "0")
    return (parts[0] + fraction).astype("int64")


def _written_out(number: str) -> str:
    """A number without a power of ten: "1.505e2" becomes "150.5". Raises ValueError if it is far
    from any time."""
    exact = Decimal(number)
    if exact and abs(exact.adjusted()) > FURTHEST_POWER:
        raise ValueError(f"{number} is no time")
    return f"{exact:f}"


def _load(path: Path) -> pd.DataFrame:
    """All complete events of a Chrome trace, with times in integer nanoseconds."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        trace = json.load(file, parse_float=str)
    events = pd.DataFrame([e for e in trace["traceEvents"] if e.get("ph") == "X"])
    start, duration = nanoseconds(events["ts"]), nanoseconds(events["dur"])
    arguments = [value if isinstance(value, dict) else {} for value in events["args"]]
    return pd.DataFrame(
        {
            "category": events["cat"],
            "name": events["name"],
            "start_ns": start,
            "end_ns": start + duration,
            "duration_ns": duration,
            "process": events["pid"],
            "thread": events["tid"],
            "correlation": [_number(a, "correlation") for a in arguments],
            "external": [_number(a, "External id") for a in arguments],
        }
    )


def _number(arguments: dict[str, Any], key: str) -> int:
    return int(arguments.get(key, NOWHERE))


def _operators(events: pd.DataFrame) -> pd.DataFrame:
    """Operators as activities, each with the time that it spent itself.

    One that ended within a tick of the clock called none, and counts as a call of 0 ns.
    """
    found = events.reset_index(drop=True)
    start, end = found["start_ns"].to_numpy(), found["end_ns"].to_numpy()
    parent = np.full(len(found), NOWHERE)
    for _, rows in found[found["duration_ns"] > 0].groupby(["process", "thread"]):
        numbers = np.append(rows.index.to_numpy(), NOWHERE)
        parent[numbers[:-1]] = numbers[nest(start[numbers[:-1]], end[numbers[:-1]]).parent]
    made = operator_calls(found["name"].tolist(), start, end, parent)
    return found.assign(
        kind="operator",
        duration_ns=made.self_ns,
        launch_ns=found["start_ns"],
        launch_end_ns=found["start_ns"],
        operator=found["name"],
    )[made.first]


def _device_activities(events: pd.DataFrame) -> pd.DataFrame:
    """Kernels, copies and sets, each with its launch call and the operator behind it."""
    device = events[events["category"].isin(KINDS)].drop(columns=["process", "thread"])
    calls = events[events["category"].isin(CALLS) & (events["correlation"] >= 0)]
    calls = calls.rename(columns={"start_ns": "launch_ns", "end_ns": "launch_end_ns"})
    calls = calls.drop_duplicates("correlation")[["correlation", *_OF_LAUNCH]]
    joined = device.merge(calls, how="left", on="correlation")
    operators = events[(events["category"] == "cpu_op") & (events["external"] >= 0)]
    by_id = operators.drop_duplicates("external").set_index("external")["name"]
    integers = dict.fromkeys(_OF_LAUNCH, "int64")
    return (
        joined.assign(
            kind=joined["category"].map(KINDS),
            operator=by_id.reindex(joined["external"]).fillna("").to_numpy(),
        )
        .fillna(dict.fromkeys(integers, NOWHERE))
        .astype(integers)
    )


def _calls(events: pd.DataFrame) -> pd.DataFrame:
    """API calls and the profiler's own overhead; those that copy pageable memory are told apart."""
    calls = events[events["category"].isin((*CALLS, "overhead"))]
    copies = events[(events["category"] == "gpu_memcpy") & events["name"].str.contains("Pageable")]
    pageable = calls["correlation"].isin(copies["correlation"]) & (calls["correlation"] >= 0)
    kind = np.where(calls["category"] == "overhead", OVERHEAD, API)
    return calls.assign(kind=np.where(pageable, PAGEABLE_COPY, kind))


def read(path: Path, profiler_version: str = "") -> Trace:
    """The Trace in a gzipped Chrome trace. Raises TraceError if it can't be read."""
    expected = "a readable torch.profiler trace"
    with reading(path, expected, remake(path), TraceError):
        return _trace(_load(path), profiler_version)


def _trace(events: pd.DataFrame, profiler_version: str) -> Trace:
    marks = events[events["category"] == "user_annotation"]
    marks = marks[~marks["name"].str.contains(TORCHS_OWN, regex=False)]
    ranges = tidy_ranges(marks)
    on_device = events["category"].isin(KINDS).any()
    operators = events[events["category"] == "cpu_op"]
    activities = _device_activities(events) if on_device else _operators(operators)
    calls = _calls(events) if on_device else no_rows(CALL_COLUMNS)
    return Trace.of("torch", profiler_version, ranges, activities, calls)
