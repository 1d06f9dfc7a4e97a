"""What every profiler's adapter returns, and all that the stages after it know of a profiler."""

from dataclasses import dataclass

import pandas as pd

END_OF_CAPTURE = "end_of_capture"
"""The capture's own closing range: a trace without it was cut short."""

RANGE_COLUMNS = ("name", "start_ns", "end_ns", "process", "thread")
ACTIVITY_COLUMNS = (
    "kind",
    "name",
    "start_ns",
    "end_ns",
    "duration_ns",
    "launch_ns",
    "process",
    "thread",
    "operator",
)


class TraceError(RuntimeError):
    """A capture or export that can't be used, in a sentence that says what to do."""


@dataclass(frozen=True)
class Trace:
    """One capture.

    ranges: a row per range that a thread pushed and popped: name, start_ns, end_ns (host clock),
    process, thread.
    activities: a row per thing that a device did: kind (kernel, copy, set, operator), name,
    start_ns, end_ns, duration_ns (end less start; of an operator, its self time), launch_ns (host
    clock, -1 where the launch is not in the capture), process and thread that launched it,
    operator (the aten operator behind it, or empty).
    """

    profiler: str
    profiler_version: str
    ranges: pd.DataFrame
    activities: pd.DataFrame

    @property
    def total_ns(self) -> int:
        """All device time in the capture."""
        return int(self.activities["duration_ns"].sum())


def tidy_ranges(ranges: pd.DataFrame) -> pd.DataFrame:
    """Ranges with their columns and types; those shorter than 1 ns can hold no launch and go."""
    lasting = ranges[ranges["end_ns"] > ranges["start_ns"]]
    return lasting[list(RANGE_COLUMNS)].reset_index(drop=True)


def require_complete(trace: Trace) -> None:
    """Raise TraceError unless the capture's own closing range is there."""
    names = trace.ranges["name"]
    if (names == END_OF_CAPTURE).any():
        return
    raise TraceError(
        f"the capture was cut short: its closing range {END_OF_CAPTURE!r} is not among the "
        f"{len(names)} ranges that {trace.profiler} {trace.profiler_version} kept; capture the "
        "case again, with a profiler no older than the CUDA libraries it has to understand"
    )
