"""Study: what the first steps of a fresh process cost, and how many must not be averaged.

One point is one process, so that each run of forward passes starts cold. forward_backward runs
second in that process: what forward has set up already is not paid for again.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import PHASE_WORDS, Column, limit, markdown_table, number, plain
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Point, Row
from workflow_src.studies.warmup.steps import SETTLED_WITHIN

TITLE = "Warm-up: what the first steps of a process cost"

WARMUP_STEPS = (0, 1, 5)
MEAN_WITHIN = 0.05
"""A warm-up is enough whose mean differs from the settled median by no more than this share."""

SIZES = {"small": ("tiny",), "full": ("small", "large")}
CONTEXTS = {"small": 64, "full": 256}
BATCH = 4
STEPS = 20


def points(device: str, scale: str) -> list[dict[str, Any]]:
    """A point per model size and number of warm-up steps."""
    return [
        {
            "point": f"{size}-ctx{CONTEXTS[scale]}-warmup{warmup_steps}",
            "size": size,
            "context": CONTEXTS[scale],
            "batch": BATCH,
            "warmup_steps": warmup_steps,
            "steps": STEPS,
        }
        for size in SIZES[scale]
        for warmup_steps in WARMUP_STEPS
    ]


def measure(point: Point) -> list[Row]:
    """A row per phase, measured in this process."""
    from workflow_src.studies.warmup.measure import measure_phases

    return measure_phases(point)


def compared(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The table's rows, those measured with first step and mean against the settled median."""
    rows = filled(table)
    for row in rows:
        if row["status"] == "ok":
            row["first_ratio"] = row["first_step_ms"] / row["settled_ms"]
            row["mean_ratio"] = row["mean_ms"] / row["settled_ms"]
            row["settled_text"] = _settled_text(row["settled_after_steps"])
    return rows


def _settled_text(steps: float | None) -> str:
    return "not within the run" if steps is None else plain(steps)


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """How much the first step costs, what it does to means, and which warm-up is enough."""
    rows = [row for row in compared(table) if row["status"] == "ok"]
    first = [row["first_ratio"] for row in rows]
    slower = sum(ratio > 1 + SETTLED_WITHIN for ratio in first)
    faster = sum(ratio < 1 - SETTLED_WITHIN for ratio in first)
    settled = [row["settled_after_steps"] for row in rows]
    return {
        "runs": len(rows),
        "first_by_phase": {
            words: [row["first_ratio"] for row in rows if row["phase"] == phase]
            for phase, words in PHASE_WORDS.items()
            if any(row["phase"] == phase for row in rows)
        },
        "first": {
            f"is over {limit(SETTLED_WITHIN)} slower": slower,
            f"lies within {limit(SETTLED_WITHIN)}": len(first) - slower - faster,
            f"is over {limit(SETTLED_WITHIN)} faster": faster,
        },
        "means": _means(rows),
        "enough": enough(rows),
        "tried": sorted({int(row["warmup_steps"]) for row in rows}),
        "mean_within": MEAN_WITHIN,
        "settled_within": SETTLED_WITHIN,
        "settled": [steps for steps in settled if steps is not None],
        "never": settled.count(None),
    }


def _means(rows: Sequence[Row]) -> dict[int, list[float]]:
    """The means' shares above the settled median, by number of warm-up steps."""
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


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """A row per run and phase."""
    rows = [row | {"phase": PHASE_WORDS[row["phase"]]} for row in compared(table)]
    columns = [
        Column("size", "size"),
        Column("context", "context", plain),
        Column("phase", "phase"),
        Column("warm-up steps", "warmup_steps", plain),
    ]
    numbers = {
        "all steps, ms": "total_ms",
        "of it warm-up, ms": "warmup_ms",
        "first step, ms": "first_step_ms",
        "mean, ms": "mean_ms",
        "std, ms": "std_ms",
        "median, ms": "median_ms",
        "p20, ms": "p20_ms",
        "p80, ms": "p80_ms",
        "first step / settled": "first_ratio",
        "mean / settled": "mean_ratio",
    }
    columns += [Column(heading, key, number, "status") for heading, key in numbers.items()]
    columns.append(Column("steps until settled", "settled_text", str, "status"))
    return {"runs": markdown_table(rows, columns)}


def draw(table: pd.DataFrame, path: Path) -> None:
    """Mean, median and first step over the number of warm-up steps."""
    from workflow_src.answers.figures import svg
    from workflow_src.studies.warmup.figure import figure

    rows = [row for row in compared(table) if row["status"] == "ok"]
    path.write_text(svg(lambda: figure(rows), "study_warmup"), encoding="utf-8")
