"""The API calls in an nsys export, by name, and the time that nsys recorded as its own."""

import re
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import union_categoricals

from workflow_src.captures.capture import (
    API,
    CALL_KINDS,
    LATEST_NS,
    OVERHEAD,
    PAGEABLE_COPY,
    UNKNOWN,
    as_small,
    calls_frame,
    coded,
)
from workflow_src.captures.exported import OVERHEADS, RUNTIME, Columns, Exported
from workflow_src.captures.launches import Calls
from workflow_src.captures.plausible import Window, outside
from workflow_src.common.intervals import Indices, Integers

COLUMNS = ("start", "end", "globalTid", "correlationId", "nameId")
VERSION = re.compile(r"_v\d+$")
"""What nsys appends to a call's name: cudaLaunchKernel_v7000."""

OVERHEAD_NAME = "profiler overhead"


@dataclass(frozen=True)
class NamedCalls:
    """Calls, whose processes have nsys's own numbers, and the name of each.

    bad, endless, impossible: how many were left out, without a start; had no end, so that they end
    where they begin; and were left out, as their times can't be.
    """

    calls: Calls
    names: "pd.Categorical[str]"
    bad: int = 0
    endless: int = 0
    impossible: int = 0

    def within(self, window: Window) -> "NamedCalls":
        """The same, but for what lies outside of a window."""
        lost = outside(self.calls.start, self.calls.end, window)
        if not lost.any():
            return self
        columns = (getattr(self.calls, field.name)[~lost] for field in fields(Calls))
        return replace(
            self, calls=Calls(*columns), names=self.names[~lost], impossible=int(lost.sum())
        )


def read_calls(found: Exported) -> NamedCalls:
    """The API calls that have a start, in the order of the file."""
    if not found.has(RUNTIME):
        none = np.array([], dtype=np.int64)
        return NamedCalls(Calls(*[none] * 5), coded(none, []))
    rows, bad, endless = _begun(found.integers(RUNTIME, COLUMNS))
    # With ten million calls, each column that isn't let go at once takes 80 MB.
    names = _names(found, rows.pop("nameId"))
    process, thread = _process_and_thread(rows.pop("globalTid"))
    number = as_small(rows.pop("correlationId"))
    calls = Calls(rows["start"], rows["end"], process, thread, number)
    return NamedCalls(calls, names, bad, endless)


def _begun(rows: Columns) -> tuple[Columns, int, int]:
    """The rows that have a start; how many haven't; and how many have no end, but end there."""
    start, end = rows["start"], rows["end"]
    good, ends = (start > -LATEST_NS) & (start < LATEST_NS), (end >= start) & (end < LATEST_NS)
    if good.all() and ends.all():
        return rows, 0, 0
    rows["end"] = np.where(ends, end, start)
    kept = {name: values[good] for name, values in rows.items()}
    return kept, int((~good).sum()), int((good & ~ends).sum())


def read_overheads(found: Exported) -> NamedCalls:
    """The time that nsys recorded as its own."""
    columns = COLUMNS[:3]
    none: Columns = {name: np.array([], dtype=np.int64) for name in columns}
    rows = found.timed(OVERHEADS, columns) if found.has(OVERHEADS) else none
    process, thread = _process_and_thread(rows["globalTid"])
    number = as_small(np.full(len(thread), UNKNOWN))
    calls = Calls(rows["start"], rows["end"], process, thread, number)
    return NamedCalls(calls, coded(np.zeros(len(thread), dtype=np.int64), [OVERHEAD_NAME]))


def _process_and_thread(number: Indices) -> tuple[Integers, Integers]:
    return number >> 24, as_small(np.where(number == UNKNOWN, UNKNOWN, number & 0xFFFFFF))


def _names(found: Exported, numbers: Indices) -> "pd.Categorical[str]":
    """Names without nsys's suffix; "" for one whose text the file lacks."""
    code, own = pd.factorize(numbers)
    texts = found.texts(own)
    return coded(code, [VERSION.sub("", texts.get(number, "")) for number in own.tolist()])


def calls_table(
    api: NamedCalls, pageable: npt.NDArray[np.bool_], overheads: NamedCalls
) -> pd.DataFrame:
    """Capture.calls of API calls, of which some copy pageable memory, and of overheads."""
    kinds = np.full(len(api.names) + len(overheads.names), CALL_KINDS.index(API), dtype=np.int8)
    kinds[: len(api.names)][pageable] = CALL_KINDS.index(PAGEABLE_COPY)
    kinds[len(api.names) :] = CALL_KINDS.index(OVERHEAD)
    columns = {
        "start_ns": "start",
        "end_ns": "end",
        "process": "process",
        "thread": "thread",
        "correlation": "number",
    }
    numbers = {
        name: _both(getattr(api.calls, field), getattr(overheads.calls, field))
        for name, field in columns.items()
    }
    names = union_categoricals([api.names, overheads.names])
    return calls_frame(coded(kinds, CALL_KINDS), names, numbers)


def _both(calls: Integers, overheads: Integers) -> Integers:
    """Those of calls and then of overheads, of which there are often none."""
    return np.append(calls, overheads) if len(overheads) else calls
