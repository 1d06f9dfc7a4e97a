"""What changed in the device's work: kernels, and the parts of a profiled step."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.answers.tables import CaseKey
from workflow_src.common.case import PHASES
from workflow_src.common.units import NS_PER_MS
from workflow_src.compare.runs import Run

KERNEL_CHANGED = 0.05
"""A kernel's time changed if it differs by more than this share of its time, ..."""

KERNEL_MATTERS = 0.001
"""... and by more than this share of the phase's device time."""


class Kind(StrEnum):
    """How a kernel changed."""

    APPEARED = "appeared"
    VANISHED = "vanished"
    CALLED = "calls changed"
    TIMED = "time changed"


@dataclass(frozen=True)
class KernelChange:
    """A kernel, by whole name, in one phase of a case: calls and time (ms) a step in A and B."""

    case: CaseKey
    phase: str
    name: str
    short_name: str
    kind: Kind
    a_calls: float
    b_calls: float
    a_ms: float
    b_ms: float

    @property
    def change_ms(self) -> float:
        """B minus A."""
        return self.b_ms - self.a_ms


@dataclass(frozen=True)
class StepChange:
    """A profiled step's mean change (ms), B minus A, and that of its parts, which add up to it."""

    case: CaseKey
    phase: str
    a_ms: float
    change_ms: float
    parts_ms: dict[str, float]

    @property
    def most(self) -> float:
        """The largest change, of the step or of a part, as a share of A's step."""
        return max(map(abs, (self.change_ms, *self.parts_ms.values()))) / self.a_ms


def kernel_changes(a: Run, b: Run, cases: Sequence[CaseKey]) -> tuple[KernelChange, ...]:
    """Kernels that appeared, vanished or changed; largest change of time first."""
    found = []
    for case in cases:
        for phase in PHASES:
            ours, theirs = (run.tables.of("kernels", case.case, phase) for run in (a, b))
            if len(ours) and len(theirs):
                found += _changes(case, phase, _by_name(ours), _by_name(theirs))
    return tuple(sorted(found, key=lambda each: -abs(each.change_ms)))


def _by_name(rows: pd.DataFrame) -> pd.DataFrame:
    """Calls and ms a step of each kernel, by whole name."""
    steps = rows["steps"].max()
    sums = rows.groupby("name")[["calls", "busy_ns"]].sum()
    return pd.DataFrame(
        {
            "calls": sums["calls"] / steps,
            "ms": sums["busy_ns"] / steps / NS_PER_MS,
            "short_name": rows.groupby("name")["short_name"].first(),
        }
    )


def _changes(
    case: CaseKey, phase: str, ours: pd.DataFrame, theirs: pd.DataFrame
) -> list[KernelChange]:
    both = ours.add_suffix("_a").join(theirs.add_suffix("_b"), how="outer")
    total, found = float(ours["ms"].sum()), []
    for name, row in both.iterrows():
        here = [not math.isnan(row[f"ms_{side}"]) for side in "ab"]
        short = str(row["short_name_a"] if here[0] else row["short_name_b"])
        calls, ms = (
            [
                0.0 if math.isnan(row[f"{what}_{side}"]) else float(row[f"{what}_{side}"])
                for side in "ab"
            ]
            for what in ("calls", "ms")
        )
        kind = kind_of(here, calls, ms, total)
        if kind:
            found.append(KernelChange(case, phase, str(name), short, kind, *calls, *ms))
    return found


def kind_of(
    here: Sequence[bool], calls: Sequence[float], ms: Sequence[float], total_ms: float
) -> Kind | None:
    """How a kernel changed from A to B, if it did: whether each has it, its calls, its times."""
    if not all(here):
        return Kind.VANISHED if here[0] else Kind.APPEARED
    if not math.isclose(*calls, rel_tol=1e-9):
        return Kind.CALLED
    changed = abs(ms[1] - ms[0]) > max(KERNEL_CHANGED * ms[0], KERNEL_MATTERS * total_ms)
    return Kind.TIMED if changed else None


def step_changes(a: Run, b: Run, cases: Sequence[CaseKey]) -> tuple[StepChange, ...]:
    """The change of each profiled step and of its parts; largest change first.

    Means over the captured steps, because means add up. Where one of the two has no causes of idle
    time (a CPU has none), idle time is one part.
    """
    found = []
    for case in cases:
        for phase in PHASES:
            ours, theirs = (run.tables.of("ledger", case.case, phase) for run in (a, b))
            if len(ours) and len(theirs):
                found.append(_step_change(case, phase, ours, theirs))
    return tuple(sorted(found, key=lambda each: -abs(each.change_ms)))


def _step_change(case: CaseKey, phase: str, ours: pd.DataFrame, theirs: pd.DataFrame) -> StepChange:
    def change(name: str) -> float:
        return float(theirs[name].mean() - ours[name].mean()) / NS_PER_MS

    parts = ["device_active_ns", *(_causes((ours, theirs)) or ["idle_ns"])]
    changes = {name.removesuffix("_ns").replace("_", " "): change(name) for name in parts}
    return StepChange(case, phase, ours["wall_ns"].mean() / NS_PER_MS, change("wall_ns"), changes)


def _causes(tables: Sequence[pd.DataFrame]) -> list[str]:
    """The columns of idle time by cause, if all tables have them without gaps."""
    causes = [name for name in map(str, tables[0]) if re.fullmatch("idle_.+_ns", name)]
    complete = all(c in table and table[c].notna().all() for table in tables for c in causes)
    return causes if complete else []
