"""How far ratios to the MLP's base can be read: its own spread, and what it waits for."""

from collections.abc import Mapping, Sequence
from typing import Any

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.studies.mlp.points import BASE

Rows = Sequence[Mapping[str, Any]]


def base_of(rows: Rows) -> Mapping[str, Any] | None:
    """The measured row of the base; None without one."""
    return next((row for row in rows if row["axis"] == "base" and "measured" in row), None)


def faster_than_base(rows: Rows) -> list[Mapping[str, Any]]:
    """The scaled rows that do more work than the base in less time."""
    return [row for row in rows if "measured" in row and row["measured"] < 1 < row["expected"]]


def unseen_work(rows: Rows) -> list[Mapping[str, Any]]:
    """The scaled rows that do more work than the base, but not in more time than it can take.

    That is, whose median is at most the base's 80th percentile.
    """
    base = base_of(rows)
    return [
        row
        for row in rows
        if base and row is not base and "measured" in row
        if row["measured"] <= base["high"] and row["expected"] > 1
    ]


def readable(share: float | None, on_cpu: bool) -> bool:
    """Whether ratios to a base with this busy share compare work, as far as is known."""
    return on_cpu or share is None or share >= LAUNCH_BOUND_BELOW


def growth(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """From one dim to another: how many times the FLOPs, the step and the busy time are."""
    return {
        "low": int(low["dim"]),
        "high": int(high["dim"]),
        "flops": (high["dim"] / low["dim"]) ** 2,
        "step": high["median_ms"] / low["median_ms"],
        "busy": high["busy_ms"] / low["busy_ms"],
    }


def per_flop(rows: Rows) -> list[dict[str, Any]]:
    """Rows of the sweep over dim, each with its FLOPs, step and busy time over the base dim's.

    `relative_*` are empty if the base's dim was not measured.
    """
    ran = [dict(row) for row in rows if row["status"] == "ok"]
    base = next((row for row in ran if row["dim"] == BASE["dim"]), None)
    if base is None:
        return ran
    return [
        row
        | {
            "relative_flops": (row["dim"] / base["dim"]) ** 2,
            "relative_step": row["median_ms"] / base["median_ms"],
            "relative_busy": row["busy_ms"] / base["busy_ms"],
        }
        for row in ran
    ]
