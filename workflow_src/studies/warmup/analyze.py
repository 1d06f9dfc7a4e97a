"""Analyzes the warm-up study: what first steps cost, and how much warm-up is enough."""

import statistics
from collections.abc import Sequence
from typing import Any

import pandas as pd

from workflow_src.common.units import NS_PER_MS
from workflow_src.render.markdown import PHASE_WORDS, limit
from workflow_src.studies import join_points
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Point, Row

SETTLED_WITHIN = 0.10
"""A step is settled if it differs from the settled median by at most this share."""

MEAN_WITHIN = 0.05
"""A warm-up is enough if the mean then differs from the settled median by at most this share."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with totals, the first step and the settled median of all steps (ms)."""
    return [row | _derived(row) if row["status"] == "ok" else row for row in rows]


def _derived(row: Row) -> Row:
    """`settled_ms` and `settled_after_steps` are of all steps, including those of the warm-up."""
    steps = [ns / NS_PER_MS for ns in (*row["warmup_ns"], *row["samples_ns"])]
    return {
        "total_ms": sum([*row["warmup_ns"], *row["samples_ns"]]) / NS_PER_MS,
        "warmup_ms": sum(row["warmup_ns"]) / NS_PER_MS,
        "first_step_ms": steps[0],
        "settled_ms": settled_median(steps),
        "settled_after_steps": settled_after(steps),
    }


def settled_median(values: Sequence[float]) -> float:
    """The median of the last half of `values`."""
    return statistics.median(values[len(values) // 2 :])


def settled_after(values: Sequence[float], within: float = SETTLED_WITHIN) -> int | None:
    """Number of steps after which all others lie within a share of the settled median.

    None if even the last one does not.
    """
    settled = settled_median(values)
    apart = [i for i, value in enumerate(values) if abs(value - settled) > within * settled]
    steps = apart[-1] + 1 if apart else 0
    return steps if steps < len(values) else None


def compared(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The table's rows; measured ones with the ratios of first step and mean to settled median."""
    rows = filled(table)
    for row in measured(rows):
        row["first_ratio"] = row["first_step_ms"] / row["settled_ms"]
        row["mean_ratio"] = row["mean_ms"] / row["settled_ms"]
    return rows


def measured(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that have numbers."""
    return [row for row in rows if row["status"] == "ok"]


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Values for the template: cost of the first step, its effect on means, enough warm-up."""
    rows = measured(compared(table))
    settled = [row["settled_after_steps"] for row in rows]
    return {
        "runs": len(rows),
        "first_by_phase": {
            words: [row["first_ratio"] for row in rows if row["phase"] == phase]
            for phase, words in PHASE_WORDS.items()
            if any(row["phase"] == phase for row in rows)
        },
        "first": _first_steps([row["first_ratio"] for row in rows]),
        "means": _means(rows),
        "enough": enough(rows),
        "tried": sorted({int(row["warmup_steps"]) for row in rows}),
        "mean_within": MEAN_WITHIN,
        "settled_within": SETTLED_WITHIN,
        "settled": [steps for steps in settled if steps is not None],
        "never": settled.count(None),
    }


def _first_steps(ratios: Sequence[float]) -> dict[str, int]:
    """In how many runs the first step is slower than, near or faster than the settled median."""
    slower = sum(ratio > 1 + SETTLED_WITHIN for ratio in ratios)
    faster = sum(ratio < 1 - SETTLED_WITHIN for ratio in ratios)
    return {
        f"is over {limit(SETTLED_WITHIN)} slower": slower,
        f"lies within {limit(SETTLED_WITHIN)}": len(ratios) - slower - faster,
        f"is over {limit(SETTLED_WITHIN)} faster": faster,
    }


def _means(rows: Sequence[Row]) -> dict[int, list[float]]:
    """How far each mean exceeds the settled median, as a share, by number of warm-up steps."""
    found: dict[int, list[float]] = {}
    for row in sorted(rows, key=lambda row: int(row["warmup_steps"])):
        found.setdefault(int(row["warmup_steps"]), []).append(row["mean_ratio"] - 1)
    return found


def enough(rows: Sequence[Row]) -> int | None:
    """The fewest warm-up steps from which on all means lie within MEAN_WITHIN; None if none do."""
    least = None
    for warmup_steps, excesses in reversed(_means(rows).items()):
        if any(abs(excess) > MEAN_WITHIN for excess in excesses):
            break
        least = warmup_steps
    return least


if __name__ == "__main__":
    join_points.main(derive)
