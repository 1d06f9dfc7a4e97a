"""Units: of a column, of what follows from others, and how their numbers print."""

import math

from workflow_src.common.table_schema import columns
from workflow_src.paper.markdown import number, significant

PLAIN = frozenset(
    {"", "×", "times", "share", "change", "points", "error", "count", "whole", "calls"}
)
"""Units of pure numbers, any of which can be said in another: 0.25 as 25 %, 0.25 × or +25 %."""

SCALES = {
    ("ns", "us"): 1e-3,
    ("ns", "ms"): 1e-6,
    ("us", "ms"): 1e-3,
    ("ms", "us"): 1e3,
    ("ms", "s"): 1e-3,
    ("MiB", "GiB"): 1 / 1024,
    ("J", "mJ"): 1e3,
    ("bytes", "MiB"): 2.0**-20,
    ("bytes", "GiB"): 2.0**-30,
    ("bytes", "MB"): 1e-6,
    ("bytes", "GB"): 1e-9,
    ("bytes/ms", "GB/s"): 1e-6,
    ("bytes/ns", "GB/s"): 1.0,
    ("flops", "GFLOP"): 1e-9,
    ("flops/ms", "TFLOP/s"): 1e-9,
    ("flops/ns", "TFLOP/s"): 1e-3,
    ("count/ms", "10^9/s"): 1e-6,
    ("count/ms", "count/s"): 1e3,
    ("count", "millions"): 1e-6,
    ("count", "billions"): 1e-9,
}

NOTHING = 0.005
"""Percent; less is printed as none."""


def unit_of(table: str, column: str) -> str:
    """The unit of a column by its schema, or of computed "ms"; "whole" for what only identifies."""
    known = columns(table)
    about = known.get(column)
    if about is None:
        # What is counted needn't come out whole in a step.
        whole = known.get(column.removesuffix("_per_step"))
        return whole.unit.replace("count", "") if whole else "ms" if column == "ms" else ""
    return about.unit or ("whole" if about.type == "whole" else "")


def scale(one: str, other: str) -> float:
    """What a number is multiplied by to be said in another unit; ValueError if it can't be."""
    if one == other or (one in PLAIN and other in PLAIN):
        return 1.0
    if (one, other) not in SCALES:
        raise ValueError(f"in {one or 'no unit'}, which can't be said in {other}")
    return SCALES[one, other]


def combined(sign: str, one: str, other: str) -> str:
    """The unit of a result; ValueError for a sum of two kinds. A literal number has none ("")."""
    if sign in "+-":
        if one != other and not (one in PLAIN and other in PLAIN):
            raise ValueError(f"{one or 'no unit'} {sign} {other or 'no unit'}")
        return one or other
    if sign == "/":
        if one in PLAIN and other in PLAIN:
            return "×" if other else one
        return "×" if one == other else one if other in PLAIN else f"{one}/{other}"
    if one in PLAIN or other in PLAIN:
        return (other if one in PLAIN and (other not in PLAIN or not one) else one) or "×"
    return f"{one} {other}"


def printed(value: float, unit: str, digits: int = 0) -> str:
    """A number as its unit says: 53 %, 1.3 ×, +12 %, 17 of 40; digits: if it has earned others."""
    percent = 100 * value
    match unit:
        case "share":
            return f"{significant(percent, digits) if digits else _percent(percent)} %"
        case "×" | "times":
            return f"{significant(value, digits) if digits else _two(value)} ×"
        case "change":
            return f"{round(percent):+} %" if round(percent) else "0 %"
        case "points":
            return f"{round(percent, 1) + 0.0:+.1f}"
        case "error":
            return f"{value:.2g}"
        case "whole":
            return f"{value:.0f}"
    if unit.startswith("of "):
        return f"{value:.0f} {unit}"
    if unit in ("", "count", "calls", "bytes") and not digits:
        is_whole = abs(value - round(value)) < 1e-9
        return f"{value:,.0f}" if is_whole or unit == "count" else number(value)
    return significant(value, digits) if digits else number(value)


def _percent(percent: float) -> str:
    if abs(percent) < NOTHING:
        return "0"
    if abs(percent) >= 9.95:
        return f"{percent:.0f}"
    return f"{percent:.1f}" if abs(percent) >= 0.095 else f"{percent:#.1g}".rstrip(".")


def _two(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 9.95 else f"{value:#.2g}".rstrip(".")


def earned(value: float, low: float, high: float) -> int:
    """How many digits ends leave: to the first of half the interval, but two or three; two without.

    So the last digit is no finer than a tenth of what the value may be off by.
    """
    half = (high - low) / 2
    if half != half or not value:
        return 2
    if not half:
        return 3
    digits = 1 + math.floor(math.log10(abs(value))) - math.floor(math.log10(abs(half)))
    return min(max(digits, 2), 3)
