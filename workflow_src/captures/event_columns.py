"""Values of many events at once: exact nanoseconds, and whole numbers."""

import json
from collections.abc import Sequence
from decimal import ROUND_DOWN, Context, Decimal
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from workflow_src.captures.capture import LATEST_NS, UNKNOWN
from workflow_src.common.intervals import Indices

MOST_DIGITS = 20
"""Of microseconds; times that differ by 146 years have 16."""

TRUNCATED = Context(prec=MOST_DIGITS + 8, rounding=ROUND_DOWN)
"""What comes after a nanosecond is left out."""

PLAIN_DIGITS = 15
"""Of microseconds before the point, from which nanoseconds fit into 64 bits."""

NOT_A_TIME = np.iinfo(np.int64).min
_LINE, _POINT, _ZERO = ord("\n"), ord("."), ord("0")
_WEIGHTS = np.array([0, *(10 ** (3 + n) for n in range(PLAIN_DIGITS)), 1, 10, 100], dtype=np.int64)
"""Nanoseconds of a digit by its place: 1, 2, ... before the point, -1, -2, -3 after it."""


def times(values: Sequence[Any]) -> Indices:
    """Microseconds, as JSON or decoded, as nanoseconds; NOT_A_TIME for what is none."""
    if values and all(type(value) is msgspec.Raw for value in values):
        data = np.frombuffer(b"\n".join(values) + b"\n", dtype=np.uint8)
        ends = np.flatnonzero(data == _LINE)
        if len(ends) == len(values):
            return _of_json(values, data, ends)
    return np.array([_time(value) for value in values], dtype=np.int64)


def _time(value: Any) -> int:
    if type(value) is msgspec.Raw:
        value = json.loads(bytes(value), parse_float=str)
    ns = nanoseconds(value)
    return NOT_A_TIME if ns is None else ns


def _of_json(values: Sequence[msgspec.Raw], data: npt.NDArray[np.uint8], ends: Indices) -> Indices:
    """Values in JSON as nanoseconds: all numbers of digits and a point at once, others singly.

    data: the text of all, each with an end of line, which is at `ends`.
    """
    starts = np.append(0, ends[:-1] + 1)
    points = np.flatnonzero(data == _POINT)
    of_point = np.searchsorted(ends, points)
    point = ends.copy()
    point[of_point] = points
    digit = data - np.uint8(_ZERO)
    strange = np.flatnonzero((digit > 9) & (data != _LINE) & (data != _POINT))
    odd = (point == starts) | (point - starts > PLAIN_DIGITS)
    odd[np.searchsorted(ends, strange)] = True
    odd[of_point[1:][of_point[1:] == of_point[:-1]]] = True
    before = np.repeat(point, ends - starts + 1) - np.arange(len(data))
    weight = _WEIGHTS[np.where((before > PLAIN_DIGITS) | (before < -3), 0, before)]
    weight[data == _LINE] = 0
    found = np.add.reduceat(weight * digit, starts)
    for row in np.flatnonzero(odd).tolist():
        found[row] = _time(values[row])
    return found


def nanoseconds(microseconds: Any) -> int | None:
    """Exact nanoseconds of a JSON number or of one as text ("1.505e2" is 150500), or None."""
    text = str(microseconds) if type(microseconds) is int else microseconds
    if not isinstance(text, str):
        return None
    try:
        number = Decimal(text)
        if number and abs(number.adjusted()) > MOST_DIGITS:
            return None
        found = int(TRUNCATED.multiply(number, 1000))
    except (ArithmeticError, ValueError):
        return None
    return found if abs(found) < LATEST_NS else None


def integers(values: Sequence[Any]) -> Indices:
    """JSON values as numbers of something; UNKNOWN for what is none."""
    if all(value is None for value in values):
        return np.full(len(values), UNKNOWN)
    if all(type(value) is int for value in values):
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
