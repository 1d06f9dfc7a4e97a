"""Cases, precisions and devices in words, for all answers."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workflow_src.answers import evidence
from workflow_src.answers.evidence import Row
from workflow_src.common.case import CASE_COLUMNS, PRECISIONS
from workflow_src.render.markdown import joined

OPTIMIZER_WORDS = {
    "adamw": "AdamW, written out",
    "foreach": "torch's foreach AdamW",
    "fused": "torch's fused AdamW",
}

SHOWN = 4
"""The most cases that a sentence lists by name."""


def named(cases: Sequence[Row]) -> list[Row]:
    """The cases with their names in words, such as "small, context 128, bf16, batch 8".

    Besides size and context a name has whatever varies. "brief" is the name without precision,
    for sentences about one precision.
    """
    axes = evidence.axes(cases)
    others = [axis for axis in axes if axis != "precision"]
    return [case | {"named": _name(case, axes), "brief": _name(case, others)} for case in cases]


def _name(case: Mapping[str, Any], axes: Sequence[str]) -> str:
    said = {"context": "context {}", "batch": "batch {}", "attention": "{} attention"}
    return ", ".join(said.get(axis, "{}").format(case[axis]) for axis in axes)


def by_precision(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by precision, fp32 first."""
    found: dict[str, list[Row]] = {}
    order = {precision: place for place, precision in enumerate(PRECISIONS)}
    for row in sorted(rows, key=lambda row: order.get(row["precision"], len(order))):
        found.setdefault(str(row["precision"]), []).append(row)
    return found


def all_but(row: Mapping[str, Any], axis: str) -> tuple[Any, ...]:
    """What a case shares with those that differ from it only in `axis`."""
    return tuple(row[column] for column in CASE_COLUMNS if column not in ("case", axis))


def median_of(rows: Sequence[Row], key: str) -> float:
    """The median of `key` over `rows`; NaN without rows."""
    return float(statistics.median(row[key] for row in rows)) if rows else float("nan")


def nearest_to_median(rows: Sequence[Row], value: Callable[[Row], float]) -> Row | None:
    """The row whose value lies nearest to the median of all: a typical one. None without rows."""
    if not rows:
        return None
    middle = statistics.median(map(value, rows))
    return min(rows, key=lambda row: abs(value(row) - middle))


def works(words: Mapping[str, str]) -> str:
    """How a sentence begins that goes on with a share of time: "the GPU works for"."""
    phrases = {"kernel": "the GPU works for", "operator": "operators take"}
    return phrases.get(words["kernel"], "the device works for")


def in_cases(count: int, total: int) -> str:
    """How many of the cases: "in all 5 cases", "in none of 5 cases", "in 2 of 5 cases"."""
    if count == total:
        return {1: "in the one case", 2: "in both cases"}.get(total, f"in all {total} cases")
    return f"in {count or 'none'} of {total} cases"


def listed(rows: Sequence[Row]) -> str:
    """Some cases by name; if they are more than four, how many there are in each precision."""
    if len(rows) <= SHOWN:
        return "; ".join(str(row["named"]) for row in rows)
    counts = [f"{len(mine)} in {precision}" for precision, mine in by_precision(rows).items()]
    return joined(counts)
