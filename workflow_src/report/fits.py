"""Whether a value can be what a number of a sentence shows: how it is printed, and its unit."""

import re
from collections.abc import Mapping, Sequence

from workflow_src.answers.provenance import (
    AMOUNTS,
    ERRORS,
    NUMERAL,
    POINTS,
    SHARES,
    Form,
    numbers_in,
)
from workflow_src.render import markdown
from workflow_src.render.markdown import escape

_OTHERS = rf"(?:(?:,| to| and| of) [-+]?{NUMERAL.pattern})*"
_UNITS = "cases?|calls?|%|points?|ms|us|ns|s|[GT]B/s|[KMGT]i?B|bytes|T?FLOPs?(?:/s)?|W|MHz|times"
UNIT = re.compile(rf"{_OTHERS} ({_UNITS})(?!\w)")
"""What follows a number with a unit, be it that of the next number: "6.68 to 724 ms"."""

CASES, CALLS = ("case", "cases"), ("call", "calls")
FORMS: Mapping[str, Sequence[Form]] = {"%": SHARES, "points": POINTS, "point": [markdown.limit]}
"""How a share is printed, by what follows it."""

NAMED = {
    "ms": "ms", "us": "us", "ns": "ns", "mib": "MiB", "gib": "GiB", "gb": "GB", "bytes": "bytes",
    "gb_per_s": "GB/s", "tflop_per_s": "TFLOP/s", "tflops": "TFLOP/s", "flops": "FLOPs",
    "mhz": "MHz", "ratio": "times",
}  # fmt: skip
"""The unit that a part of a name tells."""

NAMES_UNIT = re.compile(rf"(?:^|_)({'|'.join(sorted(NAMED, key=len, reverse=True))})(?:_|$)")
TIME = re.compile(r"(?:^|_)(?:ms|us|ns)(?:_|$)")
SHARE = re.compile(r"share$")
"""Names that tell times and shares."""

WHOLE = "100"
"""The percentage of a value of 1, which may as well be a count, an exponent or a ratio."""


def unit_of(number: re.Match[str]) -> str:
    """The unit of a number of a line, "case" where it counts those, or ""."""
    found = UNIT.match(number.string, number.end())
    return found[1] if found else ""


def unit_named(name: str) -> str:
    """The unit that a value's name tells, or ""."""
    found = NAMES_UNIT.search(name)
    return NAMED[found[1]] if found else ""


def tells(name: str, unit: str) -> bool:
    """Whether a value's name tells a unit; any name does if there is none."""
    share = unit in FORMS and bool(SHARE.search(name))
    return share or unit.lower() in name.lower() or unit == unit_named(name)


def is_bare(number: re.Match[str]) -> bool:
    """Whether a number of a line is whole and has no unit: a count of what the line tells."""
    return number[0].replace(",", "").isdigit() and not unit_of(number)


def fits(value: float | str, name: str, number: re.Match[str]) -> bool:
    """Whether a value of that name is printed as a number of a line is.

    A text is if it stands around the number as a whole, and a count only if it is equal.
    """
    if isinstance(value, str):
        return stands_at(value, number)
    unit = unit_of(number)
    if unit in FORMS:
        is_share = isinstance(value, float) and not TIME.search(name)
        is_share = is_share and (number[0] != WHOLE or bool(SHARE.search(name)))
        return is_share and number[0] in numbers_in(value, FORMS[unit])
    if unit in (*CASES, *CALLS) or is_bare(number):
        same = value == float(number[0].replace(",", "")) and not TIME.search(name)
        return same and (unit not in CALLS or "calls" in name)
    named = "share" if SHARE.search(name) else unit_named(name)
    measured = isinstance(value, float) or unit not in NAMED.values()
    # "4 times the FLOPs" may be a value named after what is compared.
    compared = number.string.startswith(f" times the {named}", number.end())
    named = unit if named and compared else named
    wrong = named.rstrip("s") != unit.rstrip("s") if unit and named else not measured
    # Too many values are rounded to one digit.
    rounded = len(number[0]) == 1 and value != float(number[0])
    return not wrong and not rounded and number[0] in numbers_in(value, (*AMOUNTS, *ERRORS))


def stands_at(text: str, number: re.Match[str]) -> bool:
    """Whether a text that holds the number stands around it in its line."""
    shown = escape(text)
    places = [found.start() for found in NUMERAL.finditer(shown) if found[0] == number[0]]
    starts = [number.start() - place for place in places]
    return any(start >= 0 and number.string.startswith(shown, start) for start in starts)
