"""The run in two sentences: where kernels are short, and what a lower precision speeds up."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from enum import StrEnum

import pandas as pd

from workflow_src.answers.conditions import undisturbed
from workflow_src.answers.kernels import PRODUCTS, device_ms
from workflow_src.answers.launch_bound import limit, us_per_launch
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import PhaseTimes
from workflow_src.common.precisions import PRECISIONS
from workflow_src.common.thresholds import MATCH_WITHIN
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Ranged, Value, count, median, ratio, spread

PHASE = "forward"


PRODUCTS_CHANGE = (
    "In {low}, matrix products take {products} of their {high} device time, other kernels "
    "{others}; medians (least to most), {pairs} pairs."
)


class Verdict(StrEnum):
    """The verdicts on a run, each with its sentences."""

    BOUND = (
        "Kernels are short (under {limit} us, {origin}) in {bound} of {cases} forward passes; in "
        "{waiting} the device also idles over 10 % of plain time."
    )
    BOUND_AND_PRODUCTS = (
        "Kernels are short (under {limit} us, {origin}) in {bound} of {cases} forward passes; in "
        "{waiting} the device also idles over 10 % of plain time. " + PRODUCTS_CHANGE
    )
    LONG = "In none of {cases} forward passes are kernels short: they take {limit} us or more."
    LONG_AND_PRODUCTS = (
        "In none of {cases} forward passes are kernels short: they take {limit} us or more. "
        + PRODUCTS_CHANGE
    )
    ON_CPU = (
        "On a CPU nothing is launched: operators take {working} of a forward pass's plain time, "
        "and Python the rest (median of {judged} cases)."
    )
    CANT_TELL = (
        "Whether launches set the pace can't be told: no forward pass has both a device time and "
        "an unprofiled time that can be compared. Measure again on a GPU, or where nothing else "
        "keeps the CPU busy."
    )


@dataclass(frozen=True)
class Precisions:
    """How device time changes from the highest precision to the lowest, over cases run in both."""

    high: str
    low: str
    products: Ranged | None
    others: Ranged | None
    pairs: Value

    @property
    def products_alone(self) -> bool:
        """Whether matrix products become faster, and nothing else does."""
        if self.products is None or self.others is None:
            return False
        products, others = (middle(each) for each in (self.products, self.others))
        return products < 1 - MATCH_WITHIN <= others


def headline(tables: Tables, times: Sequence[PhaseTimes]) -> Headline:
    """The verdict on a run, with its numbers."""
    judged = [each for each in times if each.phase == PHASE and each.working is not None]
    below, us = limit(tables), [(us_per_launch(tables, each), each) for each in judged]
    launched, changed = [each for each, _ in us if each], precisions(tables)
    bound = [each for each in launched if below.bound(each)]
    waiting = (times.working for each, times in us if below.bound(each) and times.waits)
    verdict = _verdict(judged, launched, bound, changed)
    slots: dict[str, Cell] = {
        "bound": count(bound, "cases of short kernels"),
        "waiting": count(waiting, "of these, those whose device works for less than 90 %"),
        "cases": count(launched, "cases with both times"),
        "limit": below.told,
        "origin": below.origin,
        "working": median(each.working for each in judged),
        "judged": count((each.working for each in judged), "cases with both times"),
        "high": changed.high,
        "low": changed.low,
        "products": changed.products,
        "others": changed.others,
        "pairs": changed.pairs,
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(
    judged: Sequence[PhaseTimes],
    launched: Sequence[Value],
    bound: Sequence[Value],
    changed: Precisions,
) -> Verdict:
    if not judged:
        return Verdict.CANT_TELL
    if not launched:
        return Verdict.ON_CPU
    if bound:
        return Verdict.BOUND_AND_PRODUCTS if changed.products_alone else Verdict.BOUND
    return Verdict.LONG_AND_PRODUCTS if changed.products_alone else Verdict.LONG


def precisions(tables: Tables) -> Precisions:
    """The forward pass's device time in the lowest precision over that in the highest, medians."""
    cases = undisturbed(tables)
    there = sorted({case.precision for case in cases}, key=PRECISIONS.index) or [""]
    high, low = there[0], there[-1]
    by_key = {_key(case): case for case in cases if case.precision == high}
    pairs = [
        (by_key[_key(case)], case)
        for case in cases
        if high != low == case.precision and _key(case) in by_key
    ]
    rows = [tuple(tables.of("kernels", case.case, PHASE) for case in pair) for pair in pairs]
    products = [_ratio(*(table[_multiplies(table)] for table in pair)) for pair in rows]
    others = [_ratio(*(table[~_multiplies(table)] for table in pair)) for pair in rows]
    return Precisions(high, low, spread(products), spread(others), count(products))


def middle(found: Ranged) -> float:
    """The median of a spread."""
    return found.value.number if isinstance(found.value, Value) else 0.0


def _key(case: CaseKey) -> tuple[object, ...]:
    """What two cases have in common that differ in precision alone."""
    return astuple(replace(case, case="", precision=""))


def _multiplies(rows: pd.DataFrame) -> "pd.Series[bool]":
    return rows["family"].isin(PRODUCTS)


def _ratio(before: pd.DataFrame, after: pd.DataFrame) -> Value | None:
    return ratio(device_ms(after), device_ms(before), "share", "device time / that in the highest")
