"""The common form of captures: all that later stages know about a profiler."""

import re
from dataclasses import dataclass, field

import pandas as pd

from workflow_src.captures.capture import LATEST_NS
from workflow_src.common.case import END_OF_CAPTURE
from workflow_src.common.errors import CAPTURE_AGAIN, TraceError

RANGE_COLUMNS = ("name", "start_ns", "end_ns", "process", "thread")
TEXT = frozenset(("kind", "name", "operator"))
ACTIVITY_COLUMNS = (
    "kind",
    "name",
    "start_ns",
    "end_ns",
    "duration_ns",
    "launch_ns",
    "launch_end_ns",
    "process",
    "thread",
    "operator",
)
CALL_COLUMNS = ("kind", "name", "start_ns", "end_ns", "process", "thread", "correlation")

_FACT = re.compile(r"(?P<name>host_id|host_operation_us|host_launch_us)=(?P<value>.+)")
"""The name of a range that says something about a capture: see measure/profiled_run.py."""


def no_rows(columns: tuple[str, ...]) -> pd.DataFrame:
    """A frame with `columns`, text or integer, and no rows."""
    types = {name: "str" if name in TEXT else "int64" for name in columns}
    return pd.DataFrame({name: pd.Series(dtype=type_) for name, type_ in types.items()})


@dataclass(frozen=True)
class Trace:
    """One capture.

    ranges: a row per range that a thread pushed and popped: name, start_ns, end_ns (host clock),
    process, thread.
    activities: a row per activity of a device: kind (kernel, copy, set, operator), name,
    start_ns, end_ns, duration_ns (end minus start; for an operator, its self time), launch_ns and
    launch_end_ns (the call that launched it, host clock, -1 if it is not in the capture), process
    and thread that launched it, operator (the aten operator that launched it, or empty).
    calls: a row per API call and per recorded overhead of the profiler: kind (API, PAGEABLE_COPY,
    OVERHEAD), name, start_ns, end_ns (host clock), process, thread, correlation (the profiler's
    number for the call and what it launched, or -1). No rows if the capture has none.
    """

    profiler: str
    profiler_version: str
    ranges: pd.DataFrame
    activities: pd.DataFrame
    calls: pd.DataFrame = field(default_factory=lambda: no_rows(CALL_COLUMNS))

    @classmethod
    def of(
        cls,
        profiler: str,
        version: str,
        ranges: pd.DataFrame,
        activities: pd.DataFrame,
        calls: pd.DataFrame,
    ) -> "Trace":
        """A trace from columns read from a file. Raises ValueError or TypeError for bad values."""
        return cls(
            str(profiler),
            str(version),
            _checked(ranges, RANGE_COLUMNS),
            _checked(activities, ACTIVITY_COLUMNS),
            _checked(calls, CALL_COLUMNS),
        )

    @property
    def total_ns(self) -> int:
        """Total device time (ns) in the capture."""
        return int(self.activities["duration_ns"].sum())

    @property
    def about(self) -> dict[str, str]:
        """What a case's capture says of its host, by name; captures of older runs say nothing."""
        found = filter(None, map(_FACT.fullmatch, self.ranges["name"]))
        return {each["name"]: each["value"] for each in found}


def _checked(rows: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    """`rows` with valid text and integer nanoseconds. Raises ValueError or TypeError."""
    numbers = [name for name in columns if name not in TEXT]
    for name in set(columns) & TEXT:
        for value in rows[name].unique():
            # Raises for what is not text, or can't be written as UTF-8.
            str.encode(value)
    checked = rows[list(columns)].astype(dict.fromkeys(numbers, "int64"))
    if len(checked) and (checked[numbers].abs() >= LATEST_NS).any(axis=None):
        raise ValueError("a time is out of range")
    if (checked["end_ns"] < checked["start_ns"]).any():
        raise ValueError("something ends before it starts")
    return checked.reset_index(drop=True)


def tidy_ranges(ranges: pd.DataFrame) -> pd.DataFrame:
    """Only RANGE_COLUMNS; ranges shorter than 1 ns can contain no launch and are dropped."""
    lasting = ranges[ranges["end_ns"] > ranges["start_ns"]]
    return lasting[list(RANGE_COLUMNS)].reset_index(drop=True)


def require_complete(trace: Trace) -> None:
    """Raise TraceError unless the capture's closing range is there."""
    names = trace.ranges["name"]
    if (names == END_OF_CAPTURE).any():
        return
    raise TraceError(
        f"the capture was cut short: its closing range {END_OF_CAPTURE!r} is not among the "
        f"{len(names)} ranges that {trace.profiler} {trace.profiler_version} kept; "
        f"{CAPTURE_AGAIN}, with a profiler no older than the CUDA libraries it has to understand"
    )
