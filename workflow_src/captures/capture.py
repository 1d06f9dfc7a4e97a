"""What was read of a capture, whoever made it, and what was lost while reading.

All times are integer nanoseconds. A process or thread of -1 is unknown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.recording import Recording
from workflow_src.common.csv_rows import csv_rows
from workflow_src.common.intervals import Integers

LATEST_NS = 2**62
"""Upper limit of times: 146 years, and half the range of a 64-bit integer."""

API, PAGEABLE_COPY, OVERHEAD = "api", "pageable copy", "overhead"
"""Kinds of calls: to the CUDA runtime or driver, such a call that copies to or from pageable host
memory, and time that the profiler itself took."""

UNKNOWN = -1
"""A process, thread, device, stream or number that the capture doesn't give."""

UNKNOWN_TEXT = "unknown"
"""A direction or a memory that the capture doesn't give."""

PAGEABLE = "pageable"
"""Host memory that isn't pinned."""

RANGES = ("name", "domain", "start_ns", "end_ns", "process", "thread")
WORK = (
    "kind", "name", "start_ns", "end_ns", "duration_ns", "process", "device", "stream",
    "launch_ns", "launch_end_ns", "thread", "missing",
)  # fmt: skip
THREADS = ("process", "thread", "name")
STREAM_WAITS = (
    "process", "device", "stream", "wait_ns", "record_device", "record_stream", "record_ns",
)  # fmt: skip
CALL_KINDS = (API, PAGEABLE_COPY, OVERHEAD)
CALLS = ("kind", "name", "start_ns", "end_ns", "process", "thread", "correlation")
OPERATORS = (
    "kind", "start_ns", "end_ns", "process", "thread", "number", "forward_thread",
)  # fmt: skip
COPIES = ("work", "direction", "source", "target", "bytes")
TEXTS = frozenset(("name", "domain"))
FEW_TEXTS = frozenset(("kind", "missing"))
"""Columns of text: of many different ones, and of few, which are compared again and again."""

SMALL = frozenset(("process", "thread", "device", "stream"))
"""Columns of numbers that nearly always fit into 32 bits, which halves their memory."""

KERNEL, COPY, SET, GRAPH, OPERATOR = "kernel", "copy", "set", "graph", "operator"
"""Kinds of work: GRAPH is a whole CUDA graph as one activity, OPERATOR one of torch on a CPU."""

UNREADABLE = "unreadable"
"""The note of a capture that can't be read, which is about why; nothing else is known of it."""

IMPOSSIBLE, TWICE, REUSED_NUMBERS = "impossible", "twice", "reused numbers"
"""Notes of events that can't be so."""

NO_KERNELS, LOST_KERNELS = "no kernels", "lost kernels"
"""Notes of launches without kernels: of a capture that has none, and of one that has others."""

NOTES = {row["note"]: row["meaning"] for row in csv_rows(Path(__file__).with_name("notes.csv"))}
"""What is said of a capture, by code; a note gives the count, and names where it helps."""


@dataclass(frozen=True)
class Note:
    """Something lost or decided while reading: a code of NOTES, how often, and of what."""

    code: str
    count: int
    about: str = ""


def counted(lost: Mapping[str, int]) -> tuple[Note, ...]:
    """Notes for the counts that aren't 0, by code, in the order of NOTES."""
    return tuple(Note(code, lost[code]) for code in NOTES if lost.get(code))


def noted(**counts: int) -> tuple[Note, ...]:
    """Notes for the counts that aren't 0; a code's spaces are given as underscores."""
    return tuple(Note(code.replace("_", " "), n) for code, n in counts.items() if n)


@dataclass(frozen=True)
class Capture:
    """One capture.

    ranges: a row per range, with RANGES; `domain` is DEFAULT for the one without a name.
    work: a row per device activity, with WORK; launch_ns and launch_end_ns are of the call that
    launched it and `thread` is that call's, all UNKNOWN if it isn't known, which `missing` then
    says why.
    calls: a row per API call, and per overhead that the profiler recorded of itself, with CALLS:
    kind is one of CALL_KINDS, `correlation` the profiler's number for a call and what it launched.
    copies: a row per copy or set, with COPIES: its row in `work`; direction (HtoD, DtoH, DtoD,
    PtoP, HtoH, SET, or UNKNOWN_TEXT); source and target memory (PAGEABLE, pinned, device, managed,
    or UNKNOWN_TEXT; a set has no source); bytes, or NaN.
    thread_names: a row per name of a thread, with THREADS; a profiler may give several.
    waits: a row per wait of a stream for an event, with STREAM_WAITS: what is launched on `stream`
    after wait_ns starts after what was launched on record_stream before record_ns. These are
    UNKNOWN where the profiler doesn't tell which record it was.
    operators: a row per operator that tells what autograd's nodes were made by, with OPERATORS: see
    autograd.py.
    """

    ranges: pd.DataFrame
    work: pd.DataFrame
    calls: pd.DataFrame = field(default_factory=lambda: calls_frame([], [], {}))
    copies: pd.DataFrame = field(default_factory=lambda: copies_frame({}))
    thread_names: pd.DataFrame = field(default_factory=lambda: empty(THREADS))
    waits: pd.DataFrame = field(default_factory=lambda: empty(STREAM_WAITS))
    notes: tuple[Note, ...] = ()
    recording: Recording = field(default_factory=Recording)
    operators: pd.DataFrame = field(default_factory=lambda: empty(OPERATORS))

    @classmethod
    def unreadable(cls, why: str) -> "Capture":
        """One without anything but the note that it can't be read."""
        return cls(empty(RANGES), empty(WORK), notes=(Note(UNREADABLE, 1, why),))

    @property
    def total_ns(self) -> int:
        """The time of all work."""
        return int(self.work["duration_ns"].sum())

    @property
    def processes(self) -> list[int]:
        """Every process with a range or an activity, in order."""
        found = pd.concat([self.ranges["process"], self.work["process"]]).unique()
        return sorted(int(process) for process in found)


def early(work: pd.DataFrame) -> int:
    """How many device activities start before the call that launched them."""
    return int(((work["missing"] == "") & (work["start_ns"] < work["launch_ns"])).sum())


def frame(columns: Iterable[str], rows: Mapping[Any, Any] | pd.DataFrame) -> pd.DataFrame:
    """A frame with `columns` in this order; times are 64-bit integers."""

    def typed(name: str) -> "pd.Series[Any]":
        values = rows[name]
        values = values.array if isinstance(values, pd.Series) else values
        if name in SMALL:
            return pd.Series(as_small(np.asarray(values, dtype=np.int64)), copy=False)
        if name in FEW_TEXTS and not isinstance(values, pd.Categorical):
            return pd.Series(values, dtype=object).astype("category")
        kind = "category" if name in FEW_TEXTS else object if name in TEXTS else "int64"
        return pd.Series(values, dtype=kind, copy=False)

    return pd.DataFrame({name: typed(name) for name in columns}, copy=False)


def empty(columns: Iterable[str]) -> pd.DataFrame:
    """A frame with these columns and no row."""
    return frame(columns, {name: [] for name in columns})


def calls_frame(kinds: Any, names: Any, numbers: Mapping[str, Integers]) -> pd.DataFrame:
    """A frame with CALLS, with categories for text.

    There are as many calls as activities, and more of them than anything else.
    """
    columns: dict[str, object] = {
        "kind": pd.Series(kinds, dtype=pd.CategoricalDtype(list(CALL_KINDS))),
        "name": pd.Series(names, dtype="category"),
    }
    none = np.array([], dtype=np.int64)
    columns |= {name: numbers.get(name, none) for name in CALLS[2:4]}
    columns |= {name: as_small(numbers.get(name, none)) for name in CALLS[4:]}
    return pd.DataFrame(columns, copy=False)


def copies_frame(columns: Mapping[Any, Any]) -> pd.DataFrame:
    """A frame with COPIES, with categories for text; bytes that are UNKNOWN become NaN."""
    texts = {name: pd.Series(columns.get(name, []), dtype="category") for name in COPIES[1:4]}
    work = pd.Series(columns.get("work", []), dtype="int64")
    size = pd.Series(columns.get("bytes", []), dtype="float64")
    return pd.DataFrame({"work": work, **texts, "bytes": size.mask(size == UNKNOWN)})


def joined_copies(parts: Sequence[tuple[pd.DataFrame, int]]) -> pd.DataFrame:
    """Copies of several parts, each with how many rows of work it has, joined as these are."""
    before = np.cumsum([0, *(count for _, count in parts)])[:-1].tolist()
    rows = [part.assign(work=part["work"] + n) for (part, _), n in zip(parts, before, strict=True)]
    return copies_frame(dict(pd.concat([copies_frame({}), *rows]).items()))


def coded(codes: npt.NDArray[np.integer[Any]], texts: Sequence[str]) -> "pd.Categorical[str]":
    """Text by its number in `texts`, of which several may be the same; in order of `texts`."""
    number, different = pd.factorize(np.array(texts, dtype=object))
    categories = pd.Index(different, dtype=object)
    return pd.Categorical.from_codes(number.astype(np.int32)[codes], categories)


def as_small(values: Integers) -> Integers:
    """The same in 32 bits each if all fit, which halves the memory."""
    limits = np.iinfo(np.int32)
    fit = values.min(initial=0) >= limits.min and values.max(initial=0) <= limits.max
    return values.astype(np.int32, copy=False) if fit else values
