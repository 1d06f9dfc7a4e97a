"""What the text shows of the complete rows: the largest changes, with what belongs together."""

import math
from collections.abc import Iterable, Sequence

from workflow_src.compare.device import ALIKE
from workflow_src.compare.rows import Row
from workflow_src.compare.times import FASTER, SLOWER

LARGEST = 10
"""Phases listed at the top."""

SHOWN = 20
"""Rows of any other table in Markdown; CSVs have all, and so has the page of what is longer."""


def beyond(rows: Iterable[Row], threshold: float) -> tuple[list[Row], list[Row]]:
    """The phases that took longer in B, and those that took less, by more than the threshold."""
    times = list(rows)
    longer = [row for row in times if row["ratio"] > 1 + threshold]
    return longer, [row for row in times if row["ratio"] < 1 / (1 + threshold)]


def largest(times: Sequence[Row], device: Sequence[Row], threshold: float) -> list[Row]:
    """Up to LARGEST phases beyond the threshold, each with its change of device time.

    Those that are shown to be slower or faster come first, then those with the largest ratios.
    """
    captured = {(row["case"], row["phase"]): row for row in device}
    longer, less = beyond(times, threshold)
    rows = sorted(
        longer + less, key=lambda row: (row["verdict"] not in (SLOWER, FASTER), -_size(row))
    )
    return [row | _device(captured.get((row["case"], row["phase"]))) for row in rows[:LARGEST]]


def _device(row: Row | None) -> Row:
    found = row or {"ratio": math.nan, "verdict": math.nan}
    return {"device_ratio": found["ratio"], "device_verdict": found["verdict"]}


def _size(row: Row) -> float:
    return abs(math.log(row["ratio"]))


def changed(device: Iterable[Row]) -> list[Row]:
    """The phases whose device time is longer or shorter, largest ratio first."""
    return sorted((row for row in device if row["verdict"] != ALIKE), key=_size, reverse=True)


def by_short_name(kernels: Iterable[Row]) -> list[Row]:
    """Changed kernels, those of one case, phase and short name as one row; largest change first.

    Whole names are too long for a table, and a short name alone doesn't tell them apart.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in kernels:
        groups.setdefault((row["case"], row["phase"], row["short_name"]), []).append(row)
    return sorted(map(_summed, groups.values()), key=lambda row: -abs(row["change_ms"]))


def _summed(rows: Sequence[Row]) -> Row:
    several = f" ({len(rows)} kernels)" if len(rows) > 1 else ""
    words = ", ".join(dict.fromkeys(row["change"] for row in rows))
    sums = {name: sum(row[name] for row in rows)
            for name in ("a_calls", "b_calls", "a_ms", "b_ms", "change_ms")}  # fmt: skip
    return rows[0] | sums | {"short_name": rows[0]["short_name"] + several, "change": words}


def moved(ledger: Iterable[Row], threshold: float) -> list[Row]:
    """The rows in which the step, or one of its parts, changed by more than this share of it."""
    return [row for row in ledger if _most(row) > threshold * row["a_ms"]]


def _most(row: Row) -> float:
    return float(max(map(abs, (row["change_ms"], *row["terms"].values()))))
