"""Whether power limits matrix products: one of normal numbers and of zeros, for a second each."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from workflow_src.common.ceilings import SUSTAINED, SUSTAINED_ZEROS, over_ceiling
from workflow_src.render.markdown import (
    Column,
    limit,
    markdown_table,
    names,
    number,
    percent,
    whole,
)

Row = dict[str, Any]

NUMBERS = {SUSTAINED: "standard normal", SUSTAINED_ZEROS: "zeros"}
"""The numbers that are multiplied, by the kind of row."""

KNOWN = ("median", "sm_clock_mhz", "power_w", "power_limit_w", "power_capped")
"""What must have been read for anything to be said."""

MOSTLY = 0.5
"""Power limits a product if it lowers the clock at more than this share of the readings, ..."""

NEAR_LIMIT = 0.95
"""... and if the product draws more than this share of the limit: the driver's reason alone says
little, as it stands beside much less, too."""

CLOSE = 0.05
"""The clock explains a rate if both are higher by the same factor, but for this share."""


_COMPARED = ("median", "sm_clock_mhz")


def power_table(rows: Sequence[Row]) -> Markup:
    """A line per sustained product; empty if there is none."""
    shown = [
        row | {"numbers": NUMBERS[row["kind"]], "state": "none"}
        for row in rows
        if row["kind"] in NUMBERS and row["median"]
    ]
    columns = [
        Column("product", "shape"),
        Column("in", "precision"),
        Column("of", "numbers"),
        Column("TFLOP/s", "median", number),
        Column("SM clock, MHz", "sm_clock_mhz", whole),
        Column("power, W", "power_w", whole),
        Column("limit, W", "power_limit_w", whole),
        Column("clock lowered for power, share of readings", "power_capped", percent),
    ]
    return markdown_table(shown, columns) if shown else Markup("")


def power_remark(rows: Sequence[Row]) -> str:
    """In which precisions power limits products, and how much faster those of zeros are for it."""
    pairs = _pairs(rows)
    below = _below_limit([row for pair in pairs.values() for row in pair])
    limited = {name: pair for name, pair in pairs.items() if _is_limited(pair[0])}
    if not limited:
        kept = f"Not in {' or '.join(pairs)}, by the driver's reasons and the power drawn."
        return kept + below if pairs else ""
    others = [name for name in pairs if name not in limited]
    said = f"In {names(list(limited))} the driver lowers the clock for power under products of "
    said += f"standard normal numbers{f', not in {names(others)}' if others else ''}."
    return said + _of_faster(limited) + below


def _of_faster(limited: Mapping[str, tuple[Row, Row]]) -> str:
    """How much faster products of zeros are where power limits others, and what their clock is."""
    rates, clocks = ({n: z[k] / m[k] for n, (m, z) in limited.items()} for k in _COMPARED)
    faster = [name for name, rate in rates.items() if over_ceiling(rate, 1.0)]
    if not faster:
        return ""
    less = all(limited[name][1]["power_w"] < limited[name][0]["power_w"] for name in faster)
    said = f" Those of zeros {'draw less, and ' if less else ''}are faster by "
    said += names([f"{percent(rates[name] - 1)} in {name}" for name in faster])
    if any(abs(rates[name] / clocks[name] - 1) > CLOSE for name in faster):
        return f"{said}, which their clock does not explain."
    higher = names([percent(clocks[name] - 1) for name in faster])
    return f"{said}, at a clock that is higher by {higher}."


def _pairs(rows: Sequence[Row]) -> Mapping[str, tuple[Row, Row]]:
    """The sustained rows of normal numbers and of zeros, by precision; those that have both."""
    known = {
        (row["precision"], row["kind"]): row
        for row in rows
        if row["kind"] in NUMBERS and all(row[name] is not None for name in KNOWN)
    }
    return {
        precision: (row, known[precision, SUSTAINED_ZEROS])
        for (precision, kind), row in known.items()
        if kind == SUSTAINED and (precision, SUSTAINED_ZEROS) in known
    }


def _is_limited(row: Row) -> bool:
    return float(row["power_capped"]) > MOSTLY and _draws_limit(row)


def _draws_limit(row: Row) -> bool:
    return float(row["power_w"]) > NEAR_LIMIT * float(row["power_limit_w"])


def _below_limit(rows: Sequence[Row]) -> str:
    """Where the driver gives power as its reason though the product doesn't draw its limit."""
    below = [
        f"{row['precision']}, {NUMBERS[row['kind']]} ({whole(row['power_w'])} W)"
        for row in rows
        if float(row["power_capped"]) > MOSTLY and not _draws_limit(row)
    ]
    if not below:
        return ""
    said = f" The driver gives power as its reason at less than {limit(NEAR_LIMIT)} of the limit, "
    return f"{said}too: {names(below)}."
