"""The events of a Chrome trace, also of one that is damaged or cut off.

Only events that last ("ph": "X") are kept. Numbers stay text until they become exact nanoseconds.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, NamedTuple

from workflow_src.captures.capture import UNKNOWN, plausible
from workflow_src.common.errors import TraceError

NEXT = re.compile(r"\}\s*,\s*(?=\{)")
"""Between two events, and between some objects inside of one."""

START = re.compile(r'"traceEvents"\s*:\s*\[|^\s*\[')
MOST_DIGITS = 20
"""Of microseconds; times that differ by 146 years have 16."""


class Event(NamedTuple):
    """One event, as the file has it."""

    category: str
    name: Any
    start: Any
    duration: Any
    process: Any
    thread: Any
    correlation: Any
    external: Any
    device: Any
    stream: Any


@dataclass(frozen=True)
class Events:
    """Events, how many couldn't be read, and whether the file ends in the middle."""

    rows: list[Event]
    bad: int
    cut_off: bool


def events(text: str, categories: Collection[str]) -> Events:
    """The events of these categories in a trace. Raises TraceError if it isn't one."""
    kept = partial(_kept, categories)
    decoder = json.JSONDecoder(object_hook=kept, parse_float=str, strict=False)
    try:
        found = decoder.decode(text)
    except (ValueError, RecursionError):
        return _one_by_one(text, decoder)
    listed = found.get("traceEvents") if isinstance(found, dict) else found
    if not isinstance(listed, list) or isinstance(found, Event):
        raise TraceError("it isn't a trace of torch.profiler: it has no list of traceEvents")
    return _sorted_out(listed, 0, False)


def _kept(categories: Collection[str], found: dict[str, Any]) -> Any:
    """What is kept of an object while the file is read: an event in short, nothing of others."""
    phase = found.get("ph")
    if phase is None:
        return found
    category = str(found.get("cat", "")).lower()
    if phase != "X" or category not in categories:
        return None
    more = found.get("args")
    arguments = more if isinstance(more, dict) else {}
    return Event(
        category,
        found.get("name"),
        found.get("ts"),
        found.get("dur"),
        found.get("pid"),
        found.get("tid"),
        arguments.get("correlation"),
        arguments.get("External id", arguments.get("external id")),
        arguments.get("device"),
        arguments.get("stream"),
    )


def _one_by_one(text: str, decoder: json.JSONDecoder) -> Events:
    """The events of a text that isn't JSON as a whole: each one that is."""
    begin = START.search(text)
    if not begin:
        raise TraceError("it is neither an export of nsys nor a trace of torch.profiler")
    at, bad, cut_off, found = begin.end(), 0, False, []
    while True:
        at = _skip(text, at)
        if text[at : at + 1] in ("]", ""):
            cut_off = not text[at : at + 1]
            break
        try:
            event, at = decoder.raw_decode(text, at)
            found.append(event)
        except (ValueError, RecursionError):
            after = NEXT.search(text, at)
            if not after:
                cut_off = True
                break
            at, bad = after.end(), bad + 1
    return _sorted_out(found, bad, cut_off)


def _skip(text: str, at: int) -> int:
    """The position of the next character that is neither a space nor a comma."""
    while text[at : at + 1] in (" ", ",", "\n", "\r", "\t"):
        at += 1
    return at


def _sorted_out(listed: list[Any], bad: int, cut_off: bool) -> Events:
    rows = [event for event in listed if isinstance(event, Event)]
    ignored = sum(event is None for event in listed)
    bad += len(listed) - len(rows) - ignored
    if not rows:
        raise TraceError("it holds no event of torch.profiler that takes time")
    return Events(rows, bad, cut_off)


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


def integer(value: Any) -> int:
    """A JSON value as a number of something; UNKNOWN if it is none."""
    if type(value) is int:
        return value if 0 <= value < 2**62 else UNKNOWN
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    return UNKNOWN
