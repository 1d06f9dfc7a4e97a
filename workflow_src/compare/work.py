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


NUMBERS = ["a_calls", "b_calls", "a_ms", "b_ms"]


class Kind(StrEnum):
    """How a kernel or a finding changed; of a finding that both have, a saving may be unknown."""

    APPEARED = "appeared"
    VANISHED = "vanished"
    CALLED = "calls changed"
    TIMED = "time changed"
    UNKNOWN = "saving unknown"


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
                rows = kernels_beside(_by_name(ours), _by_name(theirs), "short_name")
                changed = rows[rows["kind"].notna()].fillna(dict.fromkeys(NUMBERS, 0.0))
                columns = ["name", "short_name", "kind", *NUMBERS]
                each = changed[columns].itertuples(index=False, name=None)
                found += [KernelChange(case, phase, *row) for row in each]
    return tuple(sorted(found, key=lambda each: -abs(each.change_ms)))


def _by_name(rows: pd.DataFrame) -> pd.DataFrame:
    """Calls and ms a step of each kernel, by whole name."""
    steps = rows["steps"].max()
    sums = rows.groupby("name")[["calls", "busy_ns"]].sum() / steps
    short = rows.groupby("name")[["short_name"]].first()
    return short.assign(calls=sums["calls"], ms=sums["busy_ns"] / NS_PER_MS)


def beside(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """Rows of one index side by side, as a_... and b_...; NaN where one table lacks a row.

    in_a, in_b: whether each has it, as a value may be missing where the row isn't.
    """
    both = a.add_prefix("a_").join(b.add_prefix("b_"), how="outer")
    return both.assign(in_a=both.index.isin(a.index), in_b=both.index.isin(b.index)).reset_index()


def kernels_beside(a: pd.DataFrame, b: pd.DataFrame, text: str) -> pd.DataFrame:
    """Kernels by name, each with calls, ms and a column of text: `kind` is None if unchanged."""
    both = beside(a, b)
    here = both[["in_a", "in_b"]].to_numpy().tolist()
    numbers = both[NUMBERS].fillna(0.0).to_numpy().tolist()
    kinds = [
        _kind(there, each[:2], each[2:], float(a["ms"].sum()))
        for there, each in zip(here, numbers, strict=True)
    ]
    texts = {text: both[f"a_{text}"].fillna(both[f"b_{text}"])}
    table = both[["name"]].assign(**texts, kind=pd.Series(kinds, dtype="object"))
    return table.join(both[[*NUMBERS, "in_a", "in_b"]])


def by_change(both: pd.DataFrame, of: str = "ms", name: str = "change_ms") -> pd.DataFrame:
    """Tables side by side with how much more B has of something, as `name`; largest first.

    What isn't known in one that has the row is no change that is known.
    """
    ours, theirs = (both[f"{each}_{of}"].where(both[f"in_{each}"], 0.0) for each in ("a", "b"))
    changed = both.drop(columns=["in_a", "in_b"]).assign(**{name: theirs - ours})
    return changed.sort_values(
        name, key=lambda change: -change.abs(), kind="stable", ignore_index=True
    )


def _kind(
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
