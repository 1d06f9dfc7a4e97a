"""The events of a Chrome trace, also of one that is damaged or cut off.

As long as it is sound it is read in parts, so that it needs little memory; from where it isn't, and
at its end, event by event. Times stay text until they become exact nanoseconds.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from workflow_src.captures.files import BROKEN_GZIP, GIVE
from workflow_src.common.errors import TraceError

NEXT = re.compile(rb"\}\s*,\s*(?=\{)")
"""Between two events, and between some objects inside of one."""

START = re.compile(rb'"traceEvents"\s*:\s*\[|^(?:\xef\xbb\xbf)?\s*\[')
LONGEST = 2**26
"""Bytes before the list of events, or of an event: there are a few thousand."""

SHOWN = 30
"""Letters shown of a text of another kind, such as a page that says why there is no file."""

BAD, CUT_OFF = "bad events", "cut off"
"""Notes of events that can't be read, and of a file that ends in the middle."""

UNREADABLE = (ValueError, RecursionError, msgspec.MsgspecError)
"""What is raised where a text is no event."""

NULL = msgspec.Raw(b"null")


class Arguments(msgspec.Struct, frozen=True, gc=False):
    """What is read of an event's arguments, as the file has it."""

    correlation: Any = None
    device: Any = None
    stream: Any = None
    name: Any = None
    bytes: Any = None
    record_stream: Any = msgspec.field(name="wait_on_stream", default=None)
    record_correlation: Any = msgspec.field(name="wait_on_cuda_event_record_corr_id", default=None)
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
_HALF = re.compile(r"[\ud800-\udfff]")
"""Half of a character that has two of UTF-16, as names have that were cut by length."""


def events_of(blocks: Iterable[bytes], lost: Counter[str]) -> Iterator[list[Event]]:
    """The events of a trace, in lists, in the order of its text.

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
    """What can be read of compressed data."""
    try:
        yield from blocks
    except BROKEN_GZIP:
        lost[CUT_OFF] = 1


def _after_start(blocks: Iterator[bytes]) -> bytes:
    """The beginning of what follows the start of the list of events.

    Raises TraceError without one, and without reading on where it is too far away.
    """
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
        f"{data[:SHOWN].decode(errors='replace')!r}; {GIVE}"
    )


def _last_cut(data: bytes) -> tuple[int, int] | None:
    """The end of an event and the beginning of the next one, the last ones in some text."""
    at = len(data)
    while (at := data.rfind(b"}", 0, at)) >= 0:
        if found := NEXT.match(data, at):
            return at + 1, found.end()
    return None


def _one_by_one(text: str, lost: Counter[str]) -> list[Event]:
    """The events of any text, up to the end of their list."""
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
            events.append(_event(text[begin:end], value))
        except UNREADABLE:
            lost[BAD] += end < len(text)
        at = event_at.search(text, end)
    lost[CUT_OFF] |= at is None
    return events


def _event(text: str, value: Any) -> Event:
    """An event, also one that only Python reads: half a character is text then, Infinity nothing.

    Raises one of UNREADABLE if it is none.
    """
    try:
        return _one.decode(text)
    except UNREADABLE:
        mended = json.dumps(value, ensure_ascii=False)
        return _one.decode(_HALF.sub(lambda half: rf"\\u{ord(half[0]):x}", mended))
