"""Memory that formulas predicted, against what was measured, and the contexts that fit."""

from collections.abc import Sequence

import pandas as pd

from workflow_src.paper.value import Cell, Ranged, Value, ratio
from workflow_src.studies.flash.named import name
from workflow_src.studies.lines import Line, grouped, shown

DIGITS = 3
"""Of a ratio near 1, as it is printed; with fewer that differ, its ends say nothing."""


def memory_table(timed: Sequence[Line]) -> pd.DataFrame:
    """A row per implementation and precision that formulas know.

    Measured over predicted at the longest context, with the least and the most of all head sizes
    and contexts; the longest context that a GPU's memory was predicted to hold in both passes, with
    the longest that it held and the first that it didn't.
    """
    known = [line for line in timed if line.has("predicted_peak_mib")]
    groups = grouped(known, "implementation", "precision")
    return shown([row for mine in groups if (row := _row(mine))])


def _row(mine: Sequence[Line]) -> dict[str, Cell]:
    kept = _over_predicted(mine, "forward", "kept_mib")
    forward = _over_predicted(mine, "forward", "peak_mib")
    both = _over_predicted(mine, "forward_backward", "peak_mib")
    if not any((kept, forward, both)):
        return {}
    at = largest_head(mine)
    return {
        "attention": name(mine[0]),
        "precision": mine[0].text("precision"),
        "kept": kept,
        "forward": forward,
        "both passes": both,
        "longest by formula": longest([line for line in at if predicted_to_fit(line)]),
        "longest measured": longest([line for line in at if line.ok]),
        "first OOM": first([line for line in at if line.text("status") == "oom"]),
    }


def _over_predicted(mine: Sequence[Line], phase: str, column: str) -> Cell:
    """Measured over predicted at the longest context, with the least and the most."""
    here = [line for line in mine if line.ok and line.text("phase") == phase]
    predicted = f"predicted_{column}"
    known = [line for line in here if line.has(column, predicted)]
    ratios = [
        ratio(line.value(column, "MiB"), line.value(predicted, "MiB"), "near_one", "over predicted")
        for line in sorted(known, key=lambda line: line.amount("context"))
    ]
    found = [each for each in ratios if each]
    if not found:
        return None
    ends = sorted(found, key=lambda each: each.number)
    if round(ends[0].number, DIGITS) == round(ends[-1].number, DIGITS):
        return found[-1]
    return Ranged(found[-1], ends[0], ends[-1])


def largest_head(mine: Sequence[Line]) -> list[Line]:
    """Both passes at the head size with the most contexts."""
    both = [line for line in mine if line.text("phase") == "forward_backward"]
    return max(grouped(both, "head_size"), key=len, default=[])


def predicted_to_fit(line: Line) -> bool:
    """Whether the predicted peak is no more than the device's memory."""
    return 0 < line.amount("predicted_peak_mib") <= line.amount("memory_mib")


def longest(some: Sequence[Line]) -> Value | None:
    """The longest context of some lines."""
    found = max(some, key=lambda line: line.amount("context"), default=None)
    return found and found.value("context", "count")


def first(some: Sequence[Line]) -> Value | None:
    """The shortest context of some lines."""
    found = min(some, key=lambda line: line.amount("context"), default=None)
    return found and found.value("context", "count")
