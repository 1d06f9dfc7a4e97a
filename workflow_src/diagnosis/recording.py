"""Consecutive steps of a process as tables, and the edits that they are replayed with.

All times are integer nanoseconds.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.common.intervals import Indices

Factors = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NONE: Indices = np.zeros(0, dtype=np.int64)

SYNCHRONIZE, ALLOCATE, FREE, OTHER = "synchronize", "malloc", "free", "other"
"""The kinds of captures.call_kinds that matter here."""

SHORT_NS = 5_000
"""A waiting call's own cost, and its return after what it waited for, at most, if none tells."""


@dataclass(frozen=True)
class Recording:
    """Rows are numbered from 0; NOWHERE is no row.

    calls: a row per host call in order of start: `kind` (captures.call_kinds), `path` ("" where no
        range was open), `step` (a row of `steps`), gap_ns (the host's own time since the call
        before it), cost_ns (of the call if nothing holds it up). Of a call `beside`, on a thread
        that works for itself, gap_ns is from the start of the last call that isn't.
    work: a row per device activity in order of launch: `activity` (its row in Attributed.work),
        `call` (that launched it), `lane` (a stream of a device), latency_ns (at least, from the
        return of its call, held up by nothing, to its start; may be negative), gap_ns (at least,
        from the end of the activity before it in its lane).
    waits: a row per activity that a call returns after: return_ns (from the end of the activity to
        the return of the call), blocked (whether it had not ended when the call was made).
    ties: a row per activity that starts only after one of another lane: gap_ns (from the end of
        that one, at least).
    steps: a row per step: start_ns and end_ns of its range, `call` and `last_call` (its first and
        last), time_ns (from the end of the step before it to its own, on host and device; of the
        first, from its start or the end of the work launched before it).
    """

    process: int
    calls: pd.DataFrame
    work: pd.DataFrame
    waits: pd.DataFrame
    ties: pd.DataFrame
    steps: pd.DataFrame

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
        """The columns of all tables, by both names: "work.lane"."""
        tables = {name: getattr(self, name) for name in ("calls", "work", "waits", "ties", "steps")}
        return {
            f"{table}.{name}": rows[name].to_numpy()
            for table, rows in tables.items()
            for name in rows.columns
        }


@dataclass(frozen=True, eq=False)
class Plan:
    """What a replay does, changed in place.

    gap_ns, cost_ns: of each call; duration_ns, dropped: of each activity; waits: which rows of
    Recording.waits hold.
    """

    recording: Recording
    gap_ns: Indices
    cost_ns: Indices
    duration_ns: Indices
    dropped: Mask
    waits: Mask

    @classmethod
    def of(cls, recording: Recording) -> "Plan":
        """A recording as it is."""
        columns = recording.columns
        return cls(
            recording,
            columns["calls.gap_ns"].copy(),
            columns["calls.cost_ns"].copy(),
            columns["work.end_ns"] - columns["work.start_ns"],
            np.zeros(len(recording.work), dtype=bool),
            np.ones(len(recording.waits), dtype=bool),
        )


@dataclass(frozen=True, eq=False)
class Edit:
    """What becomes of some calls and some work, rows of a Recording.

    gap: at most so much of the host's own time (ns) is before each call. gap_factor: its share that
    is left. cost: the call takes at most so long (ns) and waits for nothing; 0 where it isn't made.
    drops: what it launches is gone. factor: the share of the work's time that is left; 0 drops it.
    ns: the work, which then runs, takes so long. Arrays have one for each.
    """

    calls: Indices = field(default_factory=NONE.copy)
    work: Indices = field(default_factory=NONE.copy)
    gap: int | Indices | None = None
    gap_factor: float | Factors = 1.0
    cost: int | None = None
    drops: bool = False
    factor: float | Factors = 1.0
    ns: Indices | None = None

    def apply(self, plan: Plan) -> None:
        """Change a plan."""
        gap_ns = plan.gap_ns[self.calls]
        gap_ns = gap_ns if self.gap is None else np.minimum(gap_ns, self.gap)
        plan.gap_ns[self.calls] = np.rint(gap_ns * self.gap_factor)
        if self.cost is not None:
            plan.cost_ns[self.calls] = np.minimum(plan.cost_ns[self.calls], self.cost)
            plan.waits[np.isin(plan.recording.columns["waits.call"], self.calls)] = False
        if self.drops:
            plan.dropped[np.isin(plan.recording.columns["work.call"], self.calls)] = True
        if self.ns is None:
            plan.duration_ns[self.work] = np.rint(plan.duration_ns[self.work] * self.factor)
            plan.dropped[self.work[np.broadcast_to(self.factor, self.work.shape) == 0]] = True
        else:
            plan.duration_ns[self.work], plan.dropped[self.work] = self.ns, False


Edits = tuple[Edit, ...]


def graphed(calls: pd.DataFrame, rows: Indices | None = None) -> Edits:
    """Of some calls, or all, that follow each other in a step, only the first stays as it is, as if
    a graph launched their work."""
    rows = np.arange(len(calls)) if rows is None else np.sort(rows)
    place = np.cumsum(~calls["beside"].to_numpy())[rows]
    step = calls["step"].to_numpy()[rows]
    others = rows[1:][(np.diff(place) == 1) & (np.diff(step) == 0)]
    return Edit(rows), Edit(others, gap=0, cost=0)


def merged(recording: Recording, calls: Indices, group: Indices, ns: Indices) -> Edits:
    """Launches of a group become its first one, whose work takes ns (by group): fusion; group: of
    each of `calls`, from 0."""
    order = np.lexsort((calls, group))
    calls, group = calls[order], group[order]
    first = np.append(True, group[1:] != group[:-1])[: len(group)]
    kernels = np.searchsorted(recording.columns["work.call"], calls[first])
    only = Edit(calls, kernels, drops=True, ns=ns[group[first]])
    return only, Edit(calls[~first], gap=0, cost=0)


@dataclass(frozen=True)
class ScaleHost:
    """Scales the first up_to_ns of the host's time before, and of, each call of the loop."""

    factor: float
    up_to_ns: int

    def apply(self, plan: Plan) -> None:
        """Change a plan."""
        own = ~plan.recording.columns["calls.beside"]
        for times in (plan.gap_ns, plan.cost_ns):
            scaled = np.clip(times[own], 0, self.up_to_ns)
            times[own] -= np.rint(scaled * (1 - self.factor)).astype(np.int64)


Change = Edit | ScaleHost
