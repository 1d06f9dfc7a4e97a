"""A recording: consecutive steps of a process as tables, whatever they were made from.

All times are integer nanoseconds.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy.typing as npt
import pandas as pd

LAUNCH, SYNCHRONIZE, ALLOCATE, FREE, OTHER = "launch", "synchronize", "malloc", "free", "other"
"""Those kinds of calls, of captures.call_kinds, that matter here."""

SHORT_NS = 5_000
"""At most so much is a waiting call's own cost, and its return after what it waited for, if the
capture has no such call that tells."""

QUEUE = 1020
"""Launches that a stream takes before the next one waits, where the capture doesn't tell: as
captures of an H200 show whose device lags behind."""

CALLS = (
    *("kind", "name", "path", "step", "thread", "start_ns", "end_ns", "gap_ns", "cost_ns"),
    "beside",
)
WORK = (
    *("activity", "kind", "name", "family", "path", "step", "call", "lane", "start_ns", "end_ns"),
    *("latency_ns", "gap_ns"),
)
WAITS = ("call", "work", "return_ns", "blocked")
TIES = ("work", "after", "gap_ns")


@dataclass(frozen=True)
class Recording:
    """Consecutive steps of one process. Rows are numbered from 0; NOWHERE is no row.

    calls: a row per host call in order of start, with CALLS: `kind` (captures.call_kinds), `path`
        ("" where no range was open), `step` (a row of `steps`), gap_ns (the host's own time since
        the call before it), cost_ns (of the call if nothing holds it up). Of a call `beside`, on a
        thread that works for itself, gap_ns is from the start of the last call that isn't.
    work: a row per device activity in order of launch, with WORK: `activity` (its row in
        Attributed.work), `call` (that launched it), `lane` (a stream of a device), latency_ns (at
        least, from the return of its call, held up by nothing, to its start; may be negative),
        gap_ns (at least, from the end of the activity before it in its lane).
    waits: a row per activity that a call returns after, with WAITS: return_ns (from the end of the
        activity to the return of the call), blocked (whether the call had to wait).
    ties: a row per activity that starts only after one of another lane, with TIES: gap_ns (from
        the end of that one, at least).
    steps: a row per step: start_ns and end_ns of its range, `call` and `last_call` (its first and
        last), time_ns (from the end of the step before it to its own, on host and device; of the
        first, from its start or from the end of the work launched before it).
    queue: so many activities of a lane can be launched and not yet started; further launches wait.
    only_launches: all that calls do is to launch an activity each, in one lane and at once.
    """

    process: int
    calls: pd.DataFrame
    work: pd.DataFrame
    waits: pd.DataFrame
    ties: pd.DataFrame
    steps: pd.DataFrame
    queue: int
    only_launches: bool = False

    @property
    def first_counted(self) -> int:
        """The first call of the steps whose mean is a step's time: not the first of several."""
        first = self.steps.iloc[0]
        return int(first["last_call"]) + 1 if len(self.steps) > 1 else int(first["call"])

    @property
    def counted(self) -> int:
        """How many steps these are."""
        return max(len(self.steps) - 1, 1)

    @cached_property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns of all tables as arrays, by both names: "work.lane"."""
        tables = {name: getattr(self, name) for name in ("calls", "work", "waits", "ties", "steps")}
        return {
            f"{table}.{name}": rows[name].to_numpy()
            for table, rows in tables.items()
            for name in rows.columns
        }
