"""Analyzes the warm-up study: what first steps cost, and how much warm-up is enough."""

import statistics
from collections.abc import Sequence
from typing import Any

import pandas as pd

from workflow_src.common.units import NS_PER_MS
from workflow_src.render.markdown import PHASE_WORDS
from workflow_src.studies import join_points
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Point, Row
from workflow_src.studies.warmup import causes
from workflow_src.studies.warmup.settled import SETTLED_WITHIN, settled_after, settled_median

MEAN_WITHIN = 0.05
"""A warm-up is enough if no mean then exceeds the settled median by more than this share.

A mean that is lower by more can't come from slow first steps, which only raise it.
"""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with totals, the first step and the settled median of all steps (ms).

    Of a point of the cause, the rows of `causes.derive`.
    """
    if point.get("cause"):
        return causes.derive(rows)
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


def runs_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The table's rows of runs with a number of warm-up steps; those of the cause have a sweep."""
    return [row for row in filled(table) if not row.get("sweep")]


def compared(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The runs; measured ones with the ratios of first step and mean to settled median."""
    rows = runs_of(table)
    for row in measured(rows):
        row["first_ratio"] = row["first_step_ms"] / row["settled_ms"]
        row["mean_ratio"] = row["mean_ms"] / row["settled_ms"]
    return rows


def measured(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that have numbers."""
    return [row for row in rows if row["status"] == "ok"]


def by_phase(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A row per size and phase: medians over its runs, and how far each run's mean is off.

    `extra_ms` is what the first step costs beyond a settled one; `excess` maps the number of
    warm-up steps to the share by which the mean exceeds the settled median.
    """
    found: dict[tuple[str, str], list[Row]] = {}
    for row in compared(table):
        found.setdefault((row["size"], row["phase"]), []).append(row)
    return [_of_runs(runs) for runs in found.values()]


def _of_runs(runs: Sequence[Row]) -> dict[str, Any]:
    ran = measured(runs)
    same = ("size", "phase", "context", "status", "reason")
    about = {key: (ran or runs)[0].get(key) for key in same} | {"runs": len(ran)}
    if not ran:
        return about
    middle = {
        key: statistics.median(row[key] for row in ran) for key in ("first_step_ms", "settled_ms")
    }
    first, settled = middle["first_step_ms"], middle["settled_ms"]
    middle |= {"first_ratio": first / settled, "extra_ms": first - settled}
    excess = {int(row["warmup_steps"]): row["mean_ratio"] - 1 for row in ran}
    return about | middle | {"excess": excess}


def named(row: Row) -> str:
    """The run of a row in words: small, forward."""
    return f"{row['size']}, {PHASE_WORDS[row['phase']]}"


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Values for the template: cost of the first step, its effect on means, enough warm-up."""
    rows = measured(compared(table))
    lines = [line for line in by_phase(table) if line["runs"]]
    never = [row for row in rows if row["settled_after_steps"] is None]
    return {
        "runs": len(rows),
        "processes": max((line["runs"] for line in lines), default=0),
        "steps": int(max((row["samples"] for row in rows), default=0)),
        "first": {
            PHASE_WORDS[phase]: [line for line in lines if line["phase"] == phase]
            for phase in dict.fromkeys(line["phase"] for line in lines)
        },
        "extra": same_extra(lines),
        "causes": causes.summarize(filled(table)),
        "worst": _worst_means(rows),
        "enough": enough(rows),
        "steady": steady_only(rows),
        "mean_within": MEAN_WITHIN,
        "settled_within": SETTLED_WITHIN,
        "below": below(rows),
        "never": never,
        "widest": _widest(never),
        "contexts": sorted({int(row["context"]) for row in rows}),
        "on_cpu": not any(row.get("gpu") for row in rows),
    }


def _widest(rows: Sequence[Row]) -> Row | None:
    """The run whose steps are spread widest, for its median."""
    widest = max(rows, key=lambda r: (r["p80_ms"] - r["p20_ms"]) / r["median_ms"], default=None)
    return widest and widest | {"named": named(widest)}


SAME_EXTRA = 1.25
"""Costs of first steps whose ratio is at most this count as the same."""


def same_extra(lines: Sequence[Row]) -> dict[str, Any] | None:
    """The phase that runs first in a process, with the smallest and the largest size.

    `same` says whether the first step's extra cost is the same while a settled step's is not.
    None if fewer than two sizes were measured, or if first steps cost nothing.
    """
    mine = [line for line in lines if line["phase"] == lines[0]["phase"]]
    low = min(mine, key=lambda line: float(line["settled_ms"]), default=None)
    high = max(mine, key=lambda line: float(line["settled_ms"]), default=None)
    if low is None or high is None or low is high or min(low["extra_ms"], high["extra_ms"]) <= 0:
        return None
    costs = sorted((low["extra_ms"], high["extra_ms"]))
    longer = high["settled_ms"] / low["settled_ms"]
    same = costs[1] / costs[0] <= SAME_EXTRA < longer
    phase = PHASE_WORDS[low["phase"]]
    return {"low": low, "high": high, "longer": longer, "same": same, "phase": phase}


def _worst_means(rows: Sequence[Row]) -> dict[int, dict[str, Any]]:
    """By number of warm-up steps, the run whose mean exceeds its settled median most.

    `excess` is that share, negative if all means are lower.
    """
    found: dict[int, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: int(row["warmup_steps"])):
        excess = row["mean_ratio"] - 1
        worst = found.get(int(row["warmup_steps"]))
        if worst is None or excess > worst["excess"]:
            within = excess <= MEAN_WITHIN
            about = {"excess": excess, "within": within, "named": named(row)}
            found[int(row["warmup_steps"])] = about
    return found


def _means(rows: Sequence[Row]) -> dict[int, list[float]]:
    """How far each mean exceeds the settled median, as a share, by number of warm-up steps."""
    found: dict[int, list[float]] = {}
    for row in sorted(rows, key=lambda row: int(row["warmup_steps"])):
        found.setdefault(int(row["warmup_steps"]), []).append(row["mean_ratio"] - 1)
    return found


def enough(rows: Sequence[Row]) -> int | None:
    """The fewest warm-up steps from which on no mean is above MEAN_WITHIN; None without any."""
    least = None
    for warmup_steps, excesses in reversed(_means(rows).items()):
        if any(excess > MEAN_WITHIN for excess in excesses):
            break
        least = warmup_steps
    return least


def steady_only(rows: Sequence[Row]) -> dict[str, Any]:
    """`enough` of the runs that settle, and the `exceptions`: those that don't and break its rule.

    A run that doesn't settle says nothing of how much warm-up is enough.
    """
    least = enough([row for row in rows if row["settled_after_steps"] is not None])
    exceptions = [
        row | {"excess": row["mean_ratio"] - 1, "named": named(row)}
        for row in rows
        if least is not None and row["settled_after_steps"] is None
        if row["warmup_steps"] >= least and row["mean_ratio"] - 1 > MEAN_WITHIN
    ]
    return {"enough": least, "exceptions": exceptions}


def below(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The runs whose mean is lower than their settled median by more than MEAN_WITHIN.

    `lower` is that share; `others` are the settled medians (ms) of the same size and phase in the
    other runs.
    """
    return [
        row
        | {"lower": 1 - row["mean_ratio"], "named": named(row)}
        | {"others": [other["settled_ms"] for other in rows if _is_another(other, row)]}
        for row in rows
        if 1 - row["mean_ratio"] > MEAN_WITHIN
    ]


def _is_another(other: Row, row: Row) -> bool:
    """Whether a row is of another run of the same size and phase."""
    same = (other["size"], other["phase"]) == (row["size"], row["phase"])
    return same and other is not row


if __name__ == "__main__":
    join_points.main(derive)
