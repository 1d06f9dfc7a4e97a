"""Memory that formulas predicted, against what was measured, and the contexts that fit."""

from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from workflow_src.paper.value import Cell, Ranged, Value, ratio
from workflow_src.studies.flash.named import name
from workflow_src.studies.lines import Line, grouped, number, shown, where

PEAK = "predicted_peak_mib"

DIGITS = 3
"""Of a ratio near 1, as it is printed; with fewer that differ, its ends say nothing."""


def memory_table(timed: Sequence[Line]) -> pd.DataFrame:
    """A row per implementation and precision that formulas know.

    Measured over predicted at the longest context, with the least and the most of all head sizes
    and contexts; the longest context that a GPU's memory was predicted to hold in both passes, with
    the longest that it held and the first that it didn't.
    """
    known = [line for line in timed if line.has(PEAK)]
    groups = grouped(known, "implementation", "precision")
    return shown([row for mine in groups if (row := _row(mine))])


def _row(mine: Sequence[Line]) -> dict[str, Cell]:
    kept = _over_predicted(mine, "forward", "kept_mib")
    forward = _over_predicted(mine, "forward", "peak_mib")
    both = _over_predicted(mine, "forward_backward", "peak_mib")
    if not any((kept, forward, both)):
        return {}
    heads = grouped(where(mine, phase="forward_backward"), "head_size")
    at = max(heads, key=len, default=[])
    fitting = [line for line in at if 0 < line.amount(PEAK) <= line.amount("memory_mib")]
    return {
        "attention": name(mine[0]),
        "precision": mine[0].text("precision"),
        "kept": kept,
        "forward": forward,
        "both passes": both,
        "longest by formula": _context(fitting, max),
        "longest measured": _context([line for line in at if line.ok], max),
        "first OOM": _context(where(at, status="oom"), min),
    }


def _over_predicted(mine: Sequence[Line], phase: str, column: str) -> Cell:
    """Measured over predicted at the longest context, with the least and the most."""
    pairs = [
        [line.value(name, "MiB") for name in (column, f"predicted_{column}")]
        for line in sorted(mine, key=lambda line: line.amount("context"))
        if line.ok and line.text("phase") == phase
    ]
    ratios = (
        ratio(measured, foretold, "near_one", "over predicted") for measured, foretold in pairs
    )
    found = list(filter(None, ratios))
    if not found:
        return None
    ends = sorted(found, key=number)
    if round(ends[0].number, DIGITS) == round(ends[-1].number, DIGITS):
        return found[-1]
    return Ranged(found[-1], ends[0], ends[-1])


def _context(some: Sequence[Line], pick: Callable[[Iterable[float]], float]) -> Value | None:
    """The longest or the shortest context of some lines; None without any."""
    contexts = {line.amount("context"): line.value("context", "count") for line in some}
    return contexts[pick(contexts)] if contexts else None
