"""Device time of two runs: of each phase, of each kernel, and of the parts of a step.

All of it comes from captures: a few steps of one process under the profiler. Device time repeats
from process to process and from host to host as wall time doesn't, but no test can be made of one
process, so that these rows have no verdict of the gate's.
"""

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from workflow_src.common.case import PHASES
from workflow_src.common.units import NS_PER_MS
from workflow_src.compare.resampling import Floats, interval, resampled_ratios
from workflow_src.compare.rows import Row, by_kernel, of
from workflow_src.compare.runs import Run
from workflow_src.compare.times import device_steps

KERNEL_CHANGED = 0.05
"""A kernel's time changed if it differs by more than this share of its time, ..."""

KERNEL_MATTERS = 0.001
"""... and by more than this share of the phase's device time."""

LONGER, SHORTER, ALIKE = "longer", "shorter", "no difference shown"

APPEARED, VANISHED, CALLED, TIMED = "appeared", "vanished", "calls changed", "time changed"


def device_times(a: Run, b: Run, cases: Iterable[Row], threshold: float) -> list[Row]:
    """A row per case and phase captured in both: ratio of the steps' median device times.

    The interval is over the steps of one capture each. Longer or shorter: every step of one run is
    beyond every step of the other, and the ratio beyond the threshold.
    """
    rows = []
    for case in cases:
        for phase in PHASES:
            ours, theirs = (device_steps(run, case["case"], phase) for run in (a, b))
            if len(ours) and len(theirs):
                found = _device_time(case["case"], ours, theirs, threshold)
                rows.append(case | {"phase": phase} | found)
    return rows


def _device_time(case: str, ours: Floats, theirs: Floats, threshold: float) -> Row:
    ratio = float(np.median(theirs) / np.median(ours))
    # One step has no spread, and thus no interval.
    several = min(len(ours), len(theirs)) > 1
    drawn = resampled_ratios(ours.tolist(), theirs.tolist(), case) if several else [math.nan]
    low, high = interval(drawn)
    verdict = ALIKE
    if theirs.min() > ours.max() and ratio > 1 + threshold:
        verdict = LONGER
    if theirs.max() < ours.min() and ratio < 1 / (1 + threshold):
        verdict = SHORTER
    times = {"a_ms": float(np.median(ours)), "b_ms": float(np.median(theirs))}
    return times | {"ratio": ratio, "low": low, "high": high, "verdict": verdict}


def kernel_changes(a: Run, b: Run, cases: Iterable[Row]) -> list[Row]:
    """Kernels, by whole name, that appeared, vanished or changed; largest change of time first."""
    rows = []
    for case in cases:
        for phase in PHASES:
            ours, theirs = (of(run.tables["kernels"], case["case"], phase) for run in (a, b))
            if len(ours) and len(theirs):
                rows += [case | {"phase": phase} | row for row in _changes(ours, theirs)]
    return sorted(rows, key=lambda row: -abs(row["change_ms"]))


def _changes(ours: pd.DataFrame, theirs: pd.DataFrame) -> list[Row]:
    kernels = [by_kernel(table) for table in (ours, theirs)]
    total_ms = sum(row["busy_ms_per_step"] for row in kernels[0].values())
    found = []
    for name in {**kernels[0], **kernels[1]}:
        before, after = (side.get(name) for side in kernels)
        change = _kind_of_change(before, after, total_ms)
        if change:
            found.append(_kernel_row(before, after) | {"change": change})
    return found


def _kind_of_change(before: Row | None, after: Row | None, total_ms: float) -> str:
    if before is None or after is None:
        return APPEARED if before is None else VANISHED
    if not math.isclose(before["calls_per_step"], after["calls_per_step"], rel_tol=1e-9):
        return CALLED
    times = [row["busy_ms_per_step"] for row in (before, after)]
    change = abs(times[1] - times[0])
    return TIMED if change > max(KERNEL_CHANGED * times[0], KERNEL_MATTERS * total_ms) else ""


def _kernel_row(before: Row | None, after: Row | None) -> Row:
    some = before or after or {}
    row = {name: some[name] for name in ("name", "short_name", "kind", "family")}
    for side, kernel in (("a", before), ("b", after)):
        row[f"{side}_calls"] = kernel["calls_per_step"] if kernel else 0.0
        row[f"{side}_ms"] = kernel["busy_ms_per_step"] if kernel else 0.0
    return row | {"change_ms": row["b_ms"] - row["a_ms"]}


def ledger_changes(a: Run, b: Run, cases: Iterable[Row]) -> list[Row]:
    """A row per case and phase with a ledger in both: the change (ms) of a step and of its terms.

    Means over the captured steps, because means add up: the terms' changes are the step's. Where
    one of the two has no causes of idle time (a CPU has none), idle time is one term.
    """
    if "ledger" not in a.tables or "ledger" not in b.tables:
        return []
    rows = []
    for case in cases:
        for phase in PHASES:
            ours, theirs = (of(run.tables["ledger"], case["case"], phase) for run in (a, b))
            if len(ours) and len(theirs):
                rows.append(case | {"phase": phase} | _ledger_change(ours, theirs))
    return sorted(rows, key=lambda row: -abs(row["change_ms"]))


def _ledger_change(ours: pd.DataFrame, theirs: pd.DataFrame) -> Row:
    def change(name: str) -> float:
        return float(theirs[name].mean() - ours[name].mean()) / NS_PER_MS

    terms = ["device_active_ns", *(causes_in([ours, theirs]) or ["idle_ns"])]
    wall = {f"{side}_ms": table["wall_ns"].mean() / NS_PER_MS for side, table in
            (("a", ours), ("b", theirs))}  # fmt: skip
    changes = {name.removesuffix("_ns"): change(name) for name in terms}
    return wall | {"change_ms": change("wall_ns"), "terms": changes}


def causes_in(tables: Sequence[pd.DataFrame]) -> list[str]:
    """The columns of idle time by cause, if all tables have them without gaps."""
    causes = [name for name in map(str, tables[0]) if re.fullmatch("idle_.+_ns", name)]
    complete = all(c in table and table[c].notna().all() for table in tables for c in causes)
    return causes if complete else []
