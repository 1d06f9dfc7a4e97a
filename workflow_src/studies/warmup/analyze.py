"""Analyzes the warm-up study: each run's first step, its settled steps, and its mean."""

import statistics
from collections.abc import Sequence

from workflow_src.common.units import NS_PER_MS
from workflow_src.studies.study import Point, Row

SETTLED_WITHIN = 0.10
"""A step is settled if it differs from the settled median by at most this share."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with the first step and the settled median of all steps (ms).

    `settled_ms` and `settled_after_steps` are of all steps, including those of
    the warm-up. Captures of first steps, which points of earlier versions have, are left out.
    """
    kept = [row for row in rows if row.get("sweep") != "traced"]
    return [_derived(row) if row["status"] == "ok" else row for row in kept]


def _derived(row: Row) -> Row:
    if "steps_ns" in row:
        steps = [ns / NS_PER_MS for ns in row["steps_ns"]]
        about = {key: row[key] for key in row if key not in ("steps_ns", "build_ns")}
        return about | _times(steps) | {"build_ms": row["build_ns"] / NS_PER_MS}
    steps = [ns / NS_PER_MS for ns in (*row["warmup_ns"], *row["samples_ns"])]
    return row | _times(steps) | {"settled_after_steps": settled_after(steps)}


def _times(steps: Sequence[float]) -> Row:
    return {"first_step_ms": steps[0], "settled_ms": settled_median(steps)}


def settled_median(values: Sequence[float]) -> float:
    """The median of the last half of `values`."""
    return statistics.median(values[len(values) // 2 :])


def settled_after(values: Sequence[float]) -> int | None:
    """Number of steps after which all others lie within SETTLED_WITHIN of the settled median.

    None if even the last one does not.
    """
    settled = settled_median(values)
    apart = [i for i, value in enumerate(values) if abs(value - settled) > SETTLED_WITHIN * settled]
    steps = apart[-1] + 1 if apart else 0
    return steps if steps < len(values) else None
