"""How products and all else change between precisions, and how much they grow with the context."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter

import pandas as pd

from workflow_src.answers.among import among
from workflow_src.answers.other_kernels.passes import Pass
from workflow_src.answers.tables import CaseKey
from workflow_src.common.thresholds import SHARES_REPEAT_WITHIN
from workflow_src.paper.value import Cell, Value, median, ratio, spread

TIMES = {
    "matrix products": "products_ms",
    "all else": "others_ms",
    "all else but casts": "uncast_ms",
}
"""What is compared between precisions: fields of Pass."""

GROWING = {
    "softmax, scaling and mask": "square_ms",
    "matrix products": "products_ms",
    "all else": "rest_ms",
}
"""What is compared between contexts: fields of Pass."""


def all_but(case: CaseKey, axis: str) -> tuple[object, ...]:
    """What a case shares with those that differ from it only in `axis`."""
    names = [field.name for field in fields(case) if field.name not in ("case", axis)]
    return tuple(getattr(case, name) for name in names)


def between_precisions(columns: Mapping[str, Sequence[Pass]]) -> pd.DataFrame:
    """Times at each precision as shares of those at the first: spreads over pairs of cases."""
    first, *others = columns or [""]
    base = {all_but(each.case, "precision"): each for each in columns.get(first, ())}
    pairs = {
        precision: [
            (base[key], each)
            for each in columns[precision]
            if (key := all_but(each.case, "precision")) in base
        ]
        for precision in others
    }
    rows: list[list[Cell]] = [
        [label, *(spread(_ratios(mine, field, "share")) for mine in pairs.values())]
        for label, field in TIMES.items()
    ]
    known = [row for row in rows if any(row[1:])]
    heads = [f"{precision}, of {first}'s time" for precision in pairs]
    return pd.DataFrame(known, columns=["median (least to most)", *heads], dtype="object")


def _median(pairs: Iterable[tuple[Pass, Pass]], field: str, unit: str) -> Cell:
    return median(_ratios(pairs, field, unit))


def _ratios(pairs: Iterable[tuple[Pass, Pass]], field: str, unit: str) -> list[Value | None]:
    """A time of the second of each pair over that of the first."""
    time = attrgetter(field)
    return [ratio(time(after), time(before), unit, "after / before") for before, after in pairs]


def over_contexts(columns: Mapping[str, Sequence[Pass]]) -> pd.DataFrame:
    """What grows how much from the shortest context to the longest: a row for each precision.

    Medians over the series of cases between the commonest two contexts.
    """
    rows: list[dict[str, Cell]] = []
    for precision, mine in columns.items():
        if pairs := _ends(mine):
            shortest, longest = (each.case.context for each in pairs[0])
            rows.append(
                {"precision": precision, "contexts": f"{shortest} to {longest}"}
                | {label: _median(pairs, field, "times") for label, field in GROWING.items()}
                | {"share besides products rises in": _rising(pairs)}
            )
    return pd.DataFrame(rows, dtype="object").dropna(axis="columns", how="all")


def _ends(passes: Sequence[Pass]) -> list[tuple[Pass, Pass]]:
    """The passes at the shortest and at the longest context of series that differ in nothing else.

    Of the commonest pair of contexts alone; of several the widest.
    """
    series: dict[tuple[object, ...], list[Pass]] = {}
    for each in passes:
        if each.others_share:
            series.setdefault(all_but(each.case, "context"), []).append(each)
    context = attrgetter("case.context")
    pairs = [(min(mine, key=context), max(mine, key=context)) for mine in series.values()]
    ends = [(a.case.context, b.case.context) for a, b in pairs if a is not b]
    if not ends:
        return []
    commonest = max(ends, key=lambda pair: (ends.count(pair), pair[1] - pair[0]))
    return [(a, b) for a, b in pairs if (a.case.context, b.case.context) == commonest]


def _rising(pairs: Sequence[tuple[Pass, Pass]]) -> Cell:
    """In how many series the share besides products rises."""
    shares = [(a.others_share, b.others_share) for a, b in pairs]
    rising = [bool(a and b and b.number - a.number > SHARES_REPEAT_WITHIN) for a, b in shares]
    return among([b for _, b in shares], rising).cell
