"""A capture's ranges, launches and calls by thread, each looked up when it is asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pandas as pd

from workflow_src.captures.capture import OVERHEAD, Capture
from workflow_src.common.intervals import Indices, Union
from workflow_src.placing.thread_turns import Caller, Spans

THREAD = ["process", "thread"]
NONE = np.array([], dtype=np.int64)

Thread = tuple[int, ...]
"""A process and a thread of it."""


def rows_by(numbers: pd.DataFrame) -> dict[tuple[int, ...], Indices]:
    """The row numbers of each combination of values."""
    groups = numbers.reset_index(drop=True).groupby(numbers.columns.tolist()).indices
    return {
        tuple(np.asarray(key).tolist()): np.asarray(rows, dtype=np.int64)
        for key, rows in groups.items()
    }


@dataclass(frozen=True)
class ThreadRows:
    """A capture and those of its ranges that count."""

    capture: Capture
    ranges: pd.DataFrame

    @cached_property
    def of_ranges(self) -> dict[Thread, Indices]:
        """The rows of each thread's ranges."""
        return rows_by(self.ranges[THREAD])

    @cached_property
    def launches(self) -> dict[Thread, Indices]:
        """The rows of the work that each thread launched."""
        known = np.flatnonzero(self.capture.work["missing"] == "")
        launching = rows_by(self.capture.work[THREAD].iloc[known])
        return {thread: known[rows] for thread, rows in launching.items()}

    @cached_property
    def names(self) -> dict[Thread, list[str]]:
        """What each thread is called: a profiler may give several names."""
        named = self.capture.threads.names
        names = named["name"].to_numpy()
        return {key: names[rows].tolist() for key, rows in rows_by(named[THREAD]).items()}

    @cached_property
    def flows(self) -> dict[Thread, pd.DataFrame]:
        """The flows to each thread from others, in order."""
        flows = self.capture.threads.flows
        flows = flows[flows["thread"] != flows["forward_thread"]].sort_values("start_ns")
        return {thread: flows.iloc[rows] for thread, rows in rows_by(flows[THREAD]).items()}

    def times(self, thread: Thread) -> tuple[Indices, Indices]:
        """When the ranges of a thread begin and end."""
        rows = self.of_ranges.get(thread, NONE)
        return (
            self.ranges["start_ns"].to_numpy()[rows], self.ranges["end_ns"].to_numpy()[rows],
        )  # fmt: skip

    def outermost(self, thread: Thread) -> Spans:
        """The outermost ranges of a thread; those that touch are one."""
        whole = Union.of(*self.times(thread))
        return Spans(whole.starts, whole.ends)

    def calls(self, thread: Thread) -> Spans:
        """The API calls of a thread."""
        calls = self.capture.calls
        on_thread = (calls["thread"] == thread[1]) & (calls["process"] == thread[0])
        own = (on_thread & (calls["kind"] != OVERHEAD)).to_numpy()
        return Spans.of(calls["start_ns"].to_numpy()[own], calls["end_ns"].to_numpy()[own])

    @cached_property
    def caller(self) -> Callable[[Thread], Caller]:
        """What a thread does, as one that others may work for."""
        return cache(self._caller)

    def _caller(self, thread: Thread) -> Caller:
        calls, (start, end) = self.calls(thread), self.times(thread)
        bounds = np.sort(np.append(start, end))
        return Caller(calls.start, np.sort(calls.end), bounds, Union.of(start, end))

    def streams(self, thread: Thread) -> set[tuple[int, ...]]:
        """The devices and streams that a thread launches work on."""
        work = self.capture.work.iloc[self.launches.get(thread, NONE)]
        return set(zip(work["device"].tolist(), work["stream"].tolist(), strict=True))
