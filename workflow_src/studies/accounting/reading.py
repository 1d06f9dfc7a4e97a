"""How far the accounting study's times can be read: where the device waits, what contradicts."""

from collections.abc import Sequence
from typing import Any

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.render.markdown import percent
from workflow_src.studies.accounting.work import FORMULA, SHAPES
from workflow_src.studies.study import Row

COMPONENTS = {
    "qkv": "q/k/v projections",
    "scores": "scores, scaling and mask",
    "softmax": "softmax",
    "values": "values (AV)",
    "output": "attention output projection",
    "feed_forward": "feed-forward",
    "head": "output head",
}
"""Components in the words of the report's answers, by the name of their range."""

FAR_BELOW = 0.5
"""A component that reaches less of its lower ceiling is held back by something else."""


def in_words(component: str) -> str:
    """A component in the report's words."""
    return COMPONENTS.get(component, component.replace("_", " "))


def busy_share(row: Row) -> float | None:
    """The share of a phase's time in which a GPU is busy; None if that isn't known."""
    if not row.get("gpu") or not row.get("busy_ms") or not row.get("median_ms"):
        return None
    return float(row["busy_ms"] / row["median_ms"])


def ends_by_precision(steps: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """The steps with the lowest and the highest MFU of each precision."""
    return {
        precision: {
            "low": min(mine, key=lambda row: float(row["mfu"])),
            "high": max(mine, key=lambda row: float(row["mfu"])),
        }
        for precision in dict.fromkeys(row["precision"] for row in steps)
        if (mine := [row for row in steps if row["precision"] == precision])
    }


def waiting(phases: Sequence[Row]) -> dict[str, list[Row]]:
    """The forward passes in which a GPU mostly waits for launches, by precision."""
    found: dict[str, list[Row]] = {}
    for row in phases:
        share = busy_share(row)
        if share is not None and share < LAUNCH_BOUND_BELOW:
            found.setdefault(row["precision"], []).append(row | {"busy_share": share})
    return found


def shorter_whole(phases: Sequence[Row]) -> list[dict[str, Row]]:
    """Where a training step took less time than forward + backward, which it contains."""
    ran = {(r["size"], r["precision"], r["phase"]): r for r in phases if r.get("median_ms")}
    pairs = [
        {"whole": row, "part": ran[size, precision, "forward_backward"]}
        for (size, precision, phase), row in ran.items()
        if phase == "train_step" and (size, precision, "forward_backward") in ran
    ]
    return [pair for pair in pairs if pair["whole"]["median_ms"] < pair["part"]["median_ms"]]


def shown_size(rows: Sequence[Row]) -> str:
    """The size whose components the report shows: the one that takes longest; "" without any."""
    return str(max(rows, key=lambda row: float(row["busy_ms"]))["size"]) if rows else ""


def by_source(rows: Sequence[Row]) -> dict[str, list[str]]:
    """The components of the size shown by what tells their bytes (work.py), in words."""
    found: dict[str, list[str]] = {SHAPES: [], FORMULA: []}
    for row in rows:
        if row["size"] == shown_size(rows):
            name = f"{row['words']} in {row['precision']}"
            found[row.get("work_from") or FORMULA].append(name)
    return found


def far_below_roof(rows: Sequence[Row]) -> list[str]:
    """The components of the size shown that reach less than FAR_BELOW of their lower ceiling."""
    shown = [row for row in rows if row["size"] == shown_size(rows)]
    return [
        f"{row['words']} in {row['precision']} ({percent(row['of_roof'])})"
        for row in shown
        if row["of_roof"] < FAR_BELOW
    ]
