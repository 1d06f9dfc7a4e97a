"""How numbers and other values stand in Markdown."""

import html
import math
import re
from collections.abc import Iterable
from typing import Any

import pandas as pd

from workflow_src.common.printable import printable


def number(value: float) -> str:
    """Three significant digits, without an exponent where that is readable: 1,234 12.3 0.0123."""
    if value == 0:
        return "0"
    text = f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:#.3g}"
    return text.rstrip(".")


def earned(value: float, least: float | None = None, most: float | None = None) -> str:
    """A value to the place of the first digit of half its interval, but two or three digits.

    So the last digit's unit is no finer than a tenth of what the value may be off by. Two digits
    without an interval.
    """
    half = (most - least) / 2 if least is not None and most is not None else None
    if value == 0 or half is None:
        return significant(value, 2)
    digits = 1 + _exponent(value) - _exponent(half) if half else 3
    return significant(value, min(max(digits, 2), 3))


def significant(value: float, digits: int) -> str:
    """So many significant digits, without an exponent where that is readable: 130, 3.6."""
    rounded = float(f"{value:.{digits - 1}e}")
    if value == 0 or abs(rounded) >= 10 ** (digits - 1):
        return f"{rounded:,.0f}"
    return f"{rounded:#.{digits}g}"


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value)))


def whole(value: float) -> str:
    """A count rounded to an integer, with thousands separators: 1,234."""
    return f"{value:,.0f}"


def calls(value: float) -> str:
    """Calls per step; a non-integer is marked as such."""
    near = abs(value - round(value)) < 1e-9
    return whole(round(value)) if near else f"{value:.2f} (not an integer)"


def joined(words: Iterable[str]) -> str:
    """A list in words: "a, b and c"; "a, b; c and d; e" if a word is itself a list."""
    said = [str(word) for word in words]
    if not said[1:] or any(", " in word or " and " in word for word in said):
        return "; ".join(said)
    return f"{', '.join(said[:-1])} and {said[-1]}"


def literal(value: Any) -> str:
    """Text as one line that can be printed."""
    return printable(re.sub(r"\s+", " ", str(value)))


def escape(value: Any) -> str:
    """Text escaped so that Markdown and HTML show it literally, in sentences and table cells."""
    text = html.escape(literal(value), quote=False).replace("|", "&#124;")
    text = re.sub(r"([\\`*\[\]])", r"\\\1", text)
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", text)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of `frame` as dictionaries."""
    found: list[dict[str, Any]] = frame.to_dict("records")  # type: ignore[assignment]
    return found
