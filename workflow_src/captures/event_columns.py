"""Events as columns: exact nanoseconds and whole numbers, made for many events at once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from workflow_src.captures.capture import UNKNOWN, plausible, printable
from workflow_src.captures.events import Event
from workflow_src.common.intervals import Indices

MOST_DIGITS = 20
"""Of microseconds; times that differ by 146 years have 16."""

PLAIN_DIGITS = 15
"""Of microseconds before the point, from which nanoseconds fit into 64 bits."""

NUMBERS = ("process", "thread", "correlation", "device", "stream", "external", "bytes")
OF_EVENTS = ("start", "end", "names", "categories")
FIRST_TEXT = 2**30
"""The number of the first process or thread that the file names by text; systems count lower."""

NOT_A_TIME = np.iinfo(np.int64).min
_LINE, _POINT, _ZERO = ord("\n"), ord("."), ord("0")
_WEIGHTS = np.array([0, *(10 ** (3 + n) for n in range(PLAIN_DIGITS)), 1, 10, 100], dtype=np.int64)
"""Nanoseconds of a digit by its place: 1, 2, ... before the point, -1, -2, -3 after it."""


@dataclass(frozen=True)
class Known:
    """What the texts of a trace are: each name once, and processes and threads by number.

    numbers: of those processes and threads that the file names by text, from FIRST_TEXT on.
    """

    names: dict[Any, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def identities(self, values: Sequence[Any]) -> Indices:
        """Processes or threads as numbers; UNKNOWN for what is neither a number nor text."""
        found = integers(values)
        for row in np.flatnonzero(found == UNKNOWN).tolist():
            if isinstance(text := values[row], str) and text:
                found[row] = self.numbers.setdefault(text, FIRST_TEXT + len(self.numbers))
        return found


@dataclass(frozen=True)
class Columns:
    """Events with valid times (ns).

    bad: how many others there were; endless: how many have no valid end, and end at their start.
    """

    start: Indices
    end: Indices
    names: npt.NDArray[np.object_]
    categories: npt.NDArray[np.object_]
    numbers: dict[str, Indices]
    bad: int = 0
    endless: int = 0

    @property
    def count(self) -> int:
        """How many events there are, with bad ones."""
        return len(self.start) + self.bad

    @classmethod
    def of(cls, events: Sequence[Event], known: "Known", endless: bool = False) -> "Columns":
        """The columns of some events that last.

        endless: whether one without a valid end counts, too, as if it ended where it starts.
        """
        start = times([event.ts for event in events])
        length = times([event.dur for event in events])
        timed, lasts = start != NOT_A_TIME, length >= 0
        good = timed & (lasts | endless)
        kept = list(events) if good.all() else [events[n] for n in np.flatnonzero(good).tolist()]
        end = np.where(lasts, start + length, start)[good]
        found = cls.between(kept, start[good], end, known)
        ends_nowhere = int((timed & ~lasts).sum()) if endless else 0
        return replace(found, bad=len(events) - len(kept), endless=ends_nowhere)

    @classmethod
    def between(
        cls, events: Sequence[Event], start: Indices, end: Indices, known: "Known"
    ) -> "Columns":
        """The columns of events that start and end at these times (ns)."""
        names, categories = (np.empty(len(events), dtype=object) for _ in range(2))
        names[:] = [_text(event.name, known.names) for event in events]
        categories[:] = [_text(str(event.cat).lower(), known.names) for event in events]
        numbers = {
            "process": known.identities([event.pid for event in events]),
            "thread": known.identities([event.tid for event in events]),
        }
        for name in NUMBERS[2:]:
            numbers[name] = integers([getattr(event.args, name) for event in events])
        return cls(start, end, names, categories, numbers)

    def ending(self, end: Indices) -> "Columns":
        """The same events with other ends."""
        return replace(self, end=end)

    def only(self, which: npt.NDArray[np.bool_]) -> "Columns":
        """Some of the events."""
        if which.all():
            return self
        numbers = {name: values[which] for name, values in self.numbers.items()}
        shown = {name: getattr(self, name)[which] for name in OF_EVENTS}
        return replace(self, numbers=numbers, **shown)

    @classmethod
    def joined(cls, parts: Sequence["Columns"]) -> "Columns":
        """Several as one, in their order; at least one is given."""
        numbers = {name: np.concatenate([part.numbers[name] for part in parts]) for name in NUMBERS}
        shown: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in OF_EVENTS
        }
        bad, endless = (sum(getattr(part, name) for part in parts) for name in ("bad", "endless"))
        return cls(numbers=numbers, bad=bad, endless=endless, **shown)


def _text(name: Any, known: dict[Any, str]) -> str:
    if not isinstance(name, str):
        return "(no name)"
    found = known.get(name)
    if found is None:
        found = known[name] = printable(name)
    return found


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
    if type(microseconds) is int:
        found = microseconds * 1000
        return found if plausible(found) else None
    if not isinstance(microseconds, str):
        return None
    try:
        return _of_text(microseconds)
    except (ValueError, InvalidOperation):
        return None


def _of_text(text: str) -> int | None:
    if "e" in text or "E" in text:
        number = Decimal(text)
        if number and abs(number.adjusted()) > MOST_DIGITS:
            return None
        text = f"{number:f}"
    whole, _, part = text.partition(".")
    if not 0 < len(whole) <= MOST_DIGITS:
        return None
    found = int(whole + (part + "000")[:3])
    return found if plausible(found) else None


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
