"""Values of many events at once: exact nanoseconds, and whole numbers."""

from collections.abc import Sequence
from decimal import ROUND_DOWN, Context, Decimal
from typing import Any

import msgspec
import numpy as np

from workflow_src.captures.capture import LATEST_NS, UNKNOWN
from workflow_src.common.intervals import Indices

MOST_DIGITS = 20
"""Of microseconds; times that differ by 146 years have 16."""

TRUNCATED = Context(prec=MOST_DIGITS + 8, rounding=ROUND_DOWN)
"""What comes after a nanosecond is left out."""

NOT_A_TIME = np.iinfo(np.int64).min
LONGEST_NUMBER = 21
"""Letters of a number whose digits fit into 64 bits, and the end of its line."""


def times(values: Sequence[msgspec.Raw]) -> Indices:
    """Microseconds, as JSON, also quoted, as nanoseconds; NOT_A_TIME for what is none."""
    if values:
        text = b"\n".join([*values, b""])
        data = np.frombuffer(text, dtype=np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        plain = not text.translate(None, b"0123456789.\n")
        if plain and np.diff(ends, prepend=-1).max() <= LONGEST_NUMBER:
            return _of_digits(text, ends, np.flatnonzero(data == ord(".")))
    each = (nanoseconds(bytes(value).decode().strip('"')) for value in values)
    return np.array([NOT_A_TIME if ns is None else ns for ns in each], dtype=np.int64)


def _of_digits(text: bytes, ends: Indices, points: Indices) -> Indices:
    """Numbers of digits, some with a point, all at once: their ends, and where points are."""
    row, decimals = np.searchsorted(ends, points), np.zeros(len(ends), dtype=np.int64)
    decimals[row] = ends[row] - points - 1
    digits = np.fromstring(text.replace(b".", b""), dtype=np.int64, sep="\n")
    whole = digits // 10 ** np.maximum(decimals - 3, 0)
    factor = 10 ** np.maximum(3 - decimals, 0)
    return np.where(whole < LATEST_NS // factor, whole * factor, NOT_A_TIME)


def nanoseconds(microseconds: str) -> int | None:
    """Exact nanoseconds of a JSON number ("1.505e2" is 150500), or None of another value."""
    try:
        number = Decimal(microseconds)
        if number and number.adjusted() > MOST_DIGITS:
            return None
        found = int(TRUNCATED.multiply(number, 1000))
    except (ArithmeticError, ValueError):
        return None
    return found if abs(found) < LATEST_NS else None


def integers(values: Sequence[Any]) -> Indices:
    """JSON values as numbers of something; UNKNOWN for what is none."""
    kinds = set(map(type, values))
    if kinds <= {type(None)}:
        return np.full(len(values), UNKNOWN)
    if kinds == {int}:
        try:
            found = np.array(values, dtype=np.int64)
            return np.where((found >= 0) & (found < 2**62), found, UNKNOWN)
        except OverflowError:
            pass
    return np.array([integer(value) for value in values], dtype=np.int64)


def integer(value: Any) -> int:
    """A JSON value as a number of something; UNKNOWN if it is none."""
    if type(value) is int:
        return value if 0 <= value < 2**62 else UNKNOWN
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    return UNKNOWN
