"""What the text of answer (c) says over several cases, precision by precision."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from workflow_src.answers import (
    components,
    evidence,
    example_case,
    other_faster,
    other_leaders,
    wording,
)
from workflow_src.answers.component_shares import MATMUL_FAMILIES
from workflow_src.answers.context_growth import (
    STEADY_WITHIN,
    besides_of,
    growth,
    square_fastest,
)
from workflow_src.answers.evidence import Row
from workflow_src.answers.other_leaders import VISIBLE, component_names, in_component
from workflow_src.answers.wording import median_of

MATTERS_ABOVE = 0.03
"""Components and families with more than this share of the pass are named."""

OWN = "a typical size at the longest context measured"

SHOWN_ABOVE = 0.01
"""Families with more than this share in some case have a column in the appendix."""


def summarize(rows: Sequence[Row], example: Row | None = None) -> Row:
    """Values for the template, from the rows that `other_kernels.measure` gives.

    `example` is the case to work through; see example_case.
    """
    measured = [row for row in wording.named(rows) if "besides" in row]
    by_precision = wording.by_precision(measured)
    beside = example_case.beside(measured, example) or chosen_beside(measured)
    growths = [
        {"precision": name} | grown
        for name, mine in by_precision.items()
        if (grown := growth(mine))
    ]
    precisions = [precision_row(name, mine) for name, mine in by_precision.items()]
    return {
        "measured": measured,
        "above": families_above(measured),
        "fused": [row["case"] for row in measured if row["shares"].get("attention", 0.0) > 0],
        "precisions": precisions,
        "largest": other_leaders.largest(precisions),
        "leading": other_leaders.leading(measured),
        "faster": (found := other_faster.faster(by_precision)),
        "rest_gains_less": all(each["matmul_part"] < each["besides_part"] for each in found),
        "rest_moves": other_faster.rest_moves(found),
        "trend": evidence.trend(measured, besides_of, STEADY_WITHIN),
        "growths": growths,
        "square_grows_fastest": all(map(square_fastest, growths)),
        "replaced": replaced(measured),
        "beside": beside,
        "medians": medians(by_precision, beside),
        "said": example_case.said(beside[0] if beside else None, example, OWN, len(measured)),
        "parts": parts(beside[0]) if beside else [],
        "matters_above": MATTERS_ABOVE,
        "steady_within": STEADY_WITHIN,
    }


def families_above(rows: Sequence[Row]) -> dict[str, list[float]]:
    """The shares of each family but matrix multiplication that passes SHOWN_ABOVE in some case."""
    found = {family for row in rows for family in row["shares"]} - set(MATMUL_FAMILIES)
    shares = {name: [row["shares"].get(name, 0.0) for row in rows] for name in sorted(found)}
    above = {family: mine for family, mine in shares.items() if max(mine) > SHOWN_ABOVE}
    return {family: above[family] for family in sorted(above, key=lambda name: -sum(above[name]))}


def precision_row(precision: str, rows: Sequence[Row]) -> Row:
    """The share besides products in the cases of one precision, and where and what it is."""
    names = component_names(rows)
    shares = {name: _median(rows, partial(in_component, name=name)) for name in names}
    known = {name for row in rows for name in row["shares"]} - set(MATMUL_FAMILIES)
    families = {name: _median(rows, partial(_in_family, name=name)) for name in known}
    casts = [row for row in rows if row["casts"]["calls"]]
    ranked = _ranked(shares)
    return {
        "precision": precision,
        "cases": len(rows),
        "everywhere": wording.in_cases(len(rows), len(rows)),
        "besides": median_of(rows, "besides"),
        "smallest": min(rows, key=lambda row: row["besides"]),
        "largest": max(rows, key=lambda row: row["besides"]),
        "components": ranked,
        "of_leader": other_leaders.families(rows, ranked[0][0]),
        "families": _ranked(families),
        "casts": _median(rows, lambda row: row["casts"]["share"]) if casts else 0.0,
    }


def _median(rows: Sequence[Row], value: Callable[[Row], float]) -> float:
    return float(statistics.median(map(value, rows)))


def _in_family(row: Row, name: str) -> float:
    return float(row["shares"].get(name, 0.0))


def _ranked(shares: Mapping[str, float]) -> list[tuple[str, float]]:
    """Names and shares above MATTERS_ABOVE, largest first; at least the largest."""
    ranked = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    return [item for place, item in enumerate(ranked) if item[1] > MATTERS_ABOVE or place == 0]


def medians(by_precision: Mapping[str, Sequence[Row]], beside: Sequence[Row]) -> Row:
    """Each component's median share of the pass besides products, by precision and name.

    For the precisions of `beside` with several cases.
    """
    shown = {row["precision"] for row in beside}
    return {
        precision: {name: _median(rows, partial(in_component, name=name)) for name in names}
        for precision, rows in by_precision.items()
        if precision in shown and len(rows) > 1 and (names := component_names(rows))
    }


def visible(rows: Sequence[Row]) -> list[str]:
    """The components that don't show as 0.0 % in all rows, in the model's order."""
    shown = {n for row in rows for n, mine in row["components"].items() if mine["share"] >= VISIBLE}
    return components.in_model_order(shown)


def replaced(rows: Sequence[Row]) -> list[Row]:
    """Pairs of cases that differ only in attention, the first being written out.

    One pair for each other attention: the one whose written-out pass takes longest.
    """
    base = {wording.all_but(row, "attention"): row for row in rows if row["attention"] == "naive"}
    found: dict[str, Row] = {}
    for row in rows:
        before = base.get(wording.all_but(row, "attention"))
        if before is None or before is row:
            continue
        known = found.get(row["attention"])
        if known is None or before["ms"] > known["before"]["ms"]:
            found[row["attention"]] = {"before": before, "after": row}
    return list(found.values())


def chosen_beside(rows: Sequence[Row]) -> list[Row]:
    """One size and context at every precision, first precision first.

    Of the cases measured at the most precisions, the longest context, and there the size whose
    share is nearest to the median.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for mine in wording.by_precision(rows).values():
        for row in mine:
            groups.setdefault(wording.all_but(row, "precision"), []).append(row)
    if not groups:
        return []
    most = max(map(len, groups.values()))
    full = [group for group in groups.values() if len(group) == most]
    longest = max(group[0]["context"] for group in full)
    typical = wording.nearest_to_median(
        [group[0] for group in full if group[0]["context"] == longest],
        lambda row: float(row["besides"]),
    )
    return groups[wording.all_but(typical, "precision")] if typical else []


def parts(row: Row) -> list[Row]:
    """The components of one case besides products, in ms: those that matter, then all others."""
    found = row["components"].items()
    each = [{"component": name, "ms": mine["besides_ms"]} for name, mine in found]
    ranked = sorted(each, key=lambda part: -part["ms"])
    shown = [part for part in ranked if part["ms"] > MATTERS_ABOVE * row["besides_ms"]]
    rest = row["besides_ms"] - sum(part["ms"] for part in shown)
    small = len([part for part in ranked if part["ms"] > 0]) - len(shown)
    return [*shown, {"component": "all others", "ms": rest}] if small else shown
