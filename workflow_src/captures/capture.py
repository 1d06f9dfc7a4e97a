"""What was read of a capture, whoever made it, how it was recorded, and what was lost on the way.

All times are integer nanoseconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.cards import Card
from workflow_src.common.csv_rows import csv_rows
from workflow_src.common.intervals import Integers
from workflow_src.common.thresholds import LOST_AT_MOST

LATEST_NS = 2**62
"""Upper limit of times: 146 years, and half the range of a 64-bit integer. While a capture is read,
what was never closed ends then."""

API, PAGEABLE_COPY, OVERHEAD = "api", "pageable copy", "overhead"
"""Kinds of calls: to the CUDA runtime or driver, such a call that copies to or from pageable host
memory, and time that the profiler itself took."""

UNKNOWN = -1
"""A process, thread, device, stream or number that the capture doesn't give."""

UNKNOWN_TEXT, PAGEABLE = "unknown", "pageable"
"""A direction or a memory that the capture doesn't give, and host memory that isn't pinned."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "ranges": ("name", "domain", "start_ns", "end_ns", "process", "thread"),
    "work": (
        "kind", "name", "start_ns", "end_ns", "duration_ns", "process", "device", "stream",
        "launch_ns", "launch_end_ns", "thread",
    ),
    "calls": ("kind", "name", "start_ns", "end_ns", "process", "thread"),
    "copies": ("work", "direction", "source", "target", "bytes"),
    "thread_names": ("process", "thread", "name"),
    "operators": ("kind", "start_ns", "end_ns", "process", "thread", "number", "forward_thread"),
}  # fmt: skip

CATEGORIES = frozenset(("kind", "direction", "source", "target"))
"""Columns of few different texts, as are the names of calls and work, the longest tables."""

SMALL = frozenset(("process", "thread", "device", "stream"))
"""Columns of numbers that nearly always fit into 32 bits, which halves their memory."""

KERNEL, COPY, SET, GRAPH, OPERATOR = "kernel", "copy", "set", "graph", "operator"
"""Kinds of work: GRAPH is a whole CUDA graph as one activity, OPERATOR one of torch on a CPU."""

NOTES = {row["note"]: row["meaning"] for row in csv_rows(Path(__file__).with_name("notes.csv"))}

UNREADABLE = "unreadable"
IMPOSSIBLE, TWICE, REUSED_NUMBERS = "impossible", "twice", "reused numbers"
NO_KERNELS, LOST_KERNELS = "no kernels", "lost kernels"
"""Of a capture that has no kernel, and of one that has others."""


@dataclass(frozen=True)
class Recording:
    """How a capture was recorded; "" and None for what the file doesn't say.

    profiler: "nsys" or "torch"; launches: calls that launch work; unanswered: those without an
    activity of their number; card: None if there are several kinds.
    """

    profiler: str = ""
    version: str = ""
    launches: int = 0
    unanswered: int = 0
    card: Card | None = None


@dataclass(frozen=True)
class Note:
    """Something lost or decided while reading: a code of NOTES, how often, and of what."""

    code: str
    count: int
    about: str = ""


def counted(lost: Mapping[str, int]) -> tuple[Note, ...]:
    """Notes for the counts that aren't 0, in the order of NOTES."""
    return tuple(Note(code, lost[code]) for code in NOTES if lost.get(code))


@dataclass(frozen=True)
class Capture:
    """Tables with COLUMNS.

    ranges: `domain` is DEFAULT for the one without a name. work: a row per device activity;
    launch_ns, launch_end_ns and `thread` are of the call that launched it, or UNKNOWN. calls: a row
    per API call, and per overhead that the profiler recorded of itself. copies: a row per copy or
    set: its row in `work`; direction (HtoD, DtoH, DtoD, PtoP, HtoH, SET, or UNKNOWN_TEXT); source
    and target memory (PAGEABLE, pinned, device, managed, or UNKNOWN_TEXT; a set has no source);
    bytes, or NaN. thread_names: a thread may have several. operators: see autograd.py.
    """

    ranges: pd.DataFrame
    work: pd.DataFrame
    calls: pd.DataFrame
    copies: pd.DataFrame
    thread_names: pd.DataFrame
    operators: pd.DataFrame
    notes: tuple[Note, ...]
    recording: Recording

    @classmethod
    def of(
        cls, tables: Mapping[str, Any], notes: tuple[Note, ...] = (), by: Recording | None = None
    ) -> "Capture":
        """One of these tables, by name; others are empty."""
        frames = {name: frame(name, tables.get(name, {})) for name in COLUMNS}
        return cls(**frames, notes=notes, recording=by or Recording())

    @property
    def total_ns(self) -> int:
        """The time of all work."""
        return int(self.work["duration_ns"].sum())

    @property
    def kernels_lost(self) -> bool:
        """Whether calls launched kernels and there are none, so that device time is unknown."""
        made = self.recording
        lost = made.unanswered > LOST_AT_MOST * made.launches
        return lost and not self.work["kind"].isin((KERNEL, GRAPH)).any()

    @property
    def processes(self) -> list[int]:
        """Every process with a range or an activity, in order."""
        found = pd.concat([self.ranges["process"], self.work["process"]]).unique()
        return sorted(int(process) for process in found)


def early(work: pd.DataFrame) -> int:
    """How many device activities start before the call that launched them."""
    return int(((work["launch_ns"] != UNKNOWN) & (work["start_ns"] < work["launch_ns"])).sum())


def frame(table: str, rows: Mapping[Any, Any] | pd.DataFrame) -> pd.DataFrame:
    """A table of a capture with its columns in their types; {} stands for no row.

    Numbers are 64-bit integers unless they are SMALL; bytes that are UNKNOWN become NaN.
    """

    def typed(name: str) -> "pd.Series[Any]":
        values = rows[name] if len(rows) else []
        values = values.array if isinstance(values, pd.Series) else values
        if name in SMALL:
            numbers = np.asarray(values)
            numbers = numbers if numbers.dtype.kind == "i" else numbers.astype(np.int64)
            return pd.Series(as_small(numbers), copy=False)
        if name == "bytes":
            return pd.Series(values, dtype="float64").replace(UNKNOWN, np.nan)
        if name in CATEGORIES or (name == "name" and table in ("calls", "work")):
            is_one = isinstance(values, pd.Categorical)
            return pd.Series(values, dtype=None if is_one else object).astype("category")
        kind = object if name in ("name", "domain") else "int64"
        return pd.Series(values, dtype=kind, copy=False)

    return pd.DataFrame({name: typed(name) for name in COLUMNS[table]}, copy=False)


def coded(codes: npt.NDArray[np.integer[Any]], texts: Sequence[str]) -> "pd.Categorical[str]":
    """Text by its number in `texts`, of which several may be the same; in order of `texts`."""
    number, different = pd.factorize(np.array(texts, dtype=object))
    categories = pd.Index(different, dtype=object)
    return pd.Categorical.from_codes(number.astype(np.int32)[codes], categories)


def as_small(values: Integers, bits: tuple[int, ...] = (32,)) -> Integers:
    """The same in the first of these numbers of bits that all fit into, or as they are."""
    for size in bits:
        limits = np.iinfo(f"int{size}")
        if values.min(initial=0) >= limits.min and values.max(initial=0) <= limits.max:
            return values.astype(limits.dtype, copy=False)
    return values
