"""The events of a Chrome trace, also of one that is damaged or cut off.

As long as it is sound it is read in parts, which needs little memory; then event by event. Times
stay text until they become exact nanoseconds, many at once.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np

from workflow_src.captures.capture import LATEST_NS, UNKNOWN
from workflow_src.captures.files import BROKEN_GZIP, GIVE
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices

NEXT = re.compile(rb"\}\s*,\s*(?=\{)")
"""Between two events, and between some objects inside of one."""

START = re.compile(rb'"traceEvents"\s*:\s*\[|^(?:\xef\xbb\xbf)?\s*\[')
LONGEST = 2**26
"""Bytes before the list of events, or of an event: there are a few thousand."""

BAD, CUT_OFF = "bad events", "cut off"

UNREADABLE = (ValueError, RecursionError, msgspec.MsgspecError)
NULL = msgspec.Raw(b"null")
NOT_A_TIME = np.iinfo(np.int64).min
LONGEST_NUMBER = 21
"""Letters of a number whose digits fit into 64 bits, and the end of its line."""


class Arguments(msgspec.Struct, frozen=True, gc=False):
    """What is read of an event's arguments, as the file has it."""

    correlation: Any = None
    device: Any = None
    stream: Any = None
    name: Any = None
    bytes: Any = None
    number: Any = msgspec.field(name="Sequence number", default=None)
    forward_thread: Any = msgspec.field(name="Fwd thread id", default=None)


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event, as the file has it; times are microseconds, as JSON."""

    ph: Any = None
    cat: str | None = None
    name: Any = None
    ts: msgspec.Raw = NULL
    dur: msgspec.Raw = NULL
    pid: Any = None
    tid: Any = None
    args: Arguments = Arguments()


_several, _one = msgspec.json.Decoder(list[Event]), msgspec.json.Decoder(Event)
_ANY = json.JSONDecoder(parse_float=str, parse_constant=lambda text: None, strict=False)


def events_of(blocks: Iterable[bytes], lost: Counter[str]) -> Iterator[list[Event]]:
    """The events of a trace, in lists, in order.

    lost: counts BAD events, and that it is CUT_OFF. Raises TraceError if it isn't a trace.
    """
    source = _up_to_damage(blocks, lost)
    rest = _after_start(source)
    for block in source:
        rest += block
        if cut := _last_cut(rest):
            try:
                events = _several.decode(b"[" + rest[: cut[0]] + b"]")
            except UNREADABLE:
                break
            yield events
            rest = rest[cut[1] :]
        elif len(rest) > LONGEST:
            break
    yield _one_by_one(b"".join([rest, *source]).decode(errors="replace"), lost)


def _up_to_damage(blocks: Iterable[bytes], lost: Counter[str]) -> Iterator[bytes]:
    try:
        yield from blocks
    except BROKEN_GZIP:
        lost[CUT_OFF] = 1


def _after_start(blocks: Iterator[bytes]) -> bytes:
    """What follows the start of the list of events. Raises TraceError where it is too far away."""
    data = b""
    for block in blocks:
        data += block
        if begin := START.search(data):
            return data[begin.end() :]
        if len(data) > LONGEST:
            break
    raise TraceError(
        "it is neither an export of nsys nor a trace of torch.profiler: its first "
        f"{LONGEST >> 20} MiB have no list of traceEvents, and begin with "
        f"{data[:30].decode(errors='replace')!r}; {GIVE}"
    )


def _last_cut(data: bytes) -> tuple[int, int] | None:
    at = len(data)
    while (at := data.rfind(b"}", 0, at)) >= 0:
        if found := NEXT.match(data, at):
            return at + 1, found.end()
    return None


def _one_by_one(text: str, lost: Counter[str]) -> list[Event]:
    between, event_at = re.compile(NEXT.pattern.decode()), re.compile(r"[^ ,\n\r\t]")
    at, events = event_at.search(text), list[Event]()
    while at and at[0] != "]":
        begin = at.start()
        try:
            value, end = _ANY.raw_decode(text, begin)
        except (ValueError, RecursionError):
            after = between.search(text, begin)
            value, end = None, after.end() if after else len(text)
        try:
            # Half a character, as of a name that was cut by length, becomes "?".
            mended = json.dumps(value, ensure_ascii=False).encode(errors="replace")
            events.append(_one.decode(mended))
        except UNREADABLE:
            lost[BAD] += end < len(text)
        at = event_at.search(text, end)
    lost[CUT_OFF] |= at is None
    return events


def times(values: Sequence[msgspec.Raw]) -> Indices:
    """Microseconds, as JSON, also quoted, as nanoseconds; NOT_A_TIME for what is none."""
    text = b"\n".join([*values, b""])
    data = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    plain = not text.translate(None, b"0123456789.\n")
    if not plain or np.diff(ends, prepend=-1).max(initial=0) > LONGEST_NUMBER:
        each = [_odd(bytes(value).decode(errors="replace")) for value in values]
        return np.array(each, dtype=np.int64)
    points, decimals = np.flatnonzero(data == ord(".")), np.zeros(len(ends), dtype=np.int64)
    row = np.searchsorted(ends, points)
    decimals[row] = ends[row] - points - 1
    digits = np.fromstring(text.replace(b".", b""), dtype=np.int64, sep="\n")
    whole = digits // 10 ** np.maximum(decimals - 3, 0)
    factor = 10 ** np.maximum(3 - decimals, 0)
    return np.where(whole < LATEST_NS // factor, whole * factor, NOT_A_TIME)


def _odd(microseconds: str) -> int:
    try:
        found = Decimal(microseconds.strip('"')) * 1000
        return int(found) if abs(found) < LATEST_NS else NOT_A_TIME
    except ArithmeticError:
        return NOT_A_TIME


def integers(values: Sequence[Any]) -> Indices:
    """JSON values as numbers of something; UNKNOWN for what is none."""
    if {*map(type, values)} == {int} and min(values) >= 0 and max(values) < LATEST_NS:
        return np.array(values, dtype=np.int64)
    each = (n if type(n) is int and 0 <= n < LATEST_NS else UNKNOWN for n in values)
    return np.array([*each], dtype=np.int64)
