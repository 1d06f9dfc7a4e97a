"""What a step on a CPU does beside operators, where nothing is launched and so nothing replayed."""

from dataclasses import dataclass

import pandas as pd

from workflow_src.capture_report.diagnosis_result import Tables
from workflow_src.common.thresholds import FINDING_AT_LEAST
from workflow_src.common.units import NS_PER_MS
from workflow_src.paper.value import Value, ratio, rows_of


@dataclass(frozen=True)
class Gap:
    """Where most time of steps passes without an operator: after and before which ones."""

    ms: Value
    after: str
    after_path: str
    before: str
    before_path: str


@dataclass(frozen=True)
class Outside:
    """The share of steps in which no operator runs; its largest part, if one is regular."""

    share: Value
    gap: Gap | None


def outside_operators(tables: Tables) -> Outside | None:
    """The time of a CPU's steps outside of operators; None without steps."""
    steps, gaps = tables["steps"], tables["gaps"]
    source = rows_of("steps", steps)
    idle, wall = (
        Value(float(steps[name].sum()) / NS_PER_MS, "ms", (source,), f"sum of {name}")
        for name in ("idle_ns", "wall_ns")
    )
    share = ratio(idle, wall, "share", "idle_ns / wall_ns")
    if share is None:
        return None
    large = gaps["gap_ms"] >= FINDING_AT_LEAST * wall.number / len(steps)
    # What holds up each step or, between steps, each but the first; not what the system did once.
    often = gaps["gaps"] * len(steps) > len(steps) - 1.5
    return Outside(share, _largest(gaps[large & often]))


def _largest(gaps: pd.DataFrame) -> Gap | None:
    if gaps.empty:
        return None
    rows = gaps.loc[[gaps["gap_ms"].idxmax()]]
    ms = Value(float(rows["gap_ms"].iloc[0]), "ms", (rows_of("gaps", rows),), "gap_ms")
    return Gap(ms, *rows[["after_call", "after_path", "before_call", "before_path"]].iloc[0])
