"""The events of a Chrome trace, also of one that is damaged or cut off.

A trace that is valid JSON is read in parts, so that it needs little memory; any other one event by
event. Times stay text until they become exact nanoseconds.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from workflow_src.captures.files import BROKEN_GZIP, GIVE
from workflow_src.common.errors import TraceError

NEXT = re.compile(rb"\}\s*,\s*(?=\{)")
"""Between two events, and between some objects inside of one."""

START = re.compile(rb'"traceEvents"\s*:\s*\[|^\s*\[')
LONGEST = 2**26
"""Bytes before the list of events, or of an event: there are a few thousand."""

SHOWN = 30
"""Letters shown of a text of another kind, such as a page that says why there is no file."""

OVERLAP = 2**10
"""Bytes searched again, as the beginning of the list may lie in two parts."""

NULL = msgspec.Raw(b"null")


class Arguments(msgspec.Struct, frozen=True, gc=False):
    """What is read of an event's arguments, as the file has it."""

    correlation: Any = None
    device: Any = None
    stream: Any = None
    name: Any = None
    bytes: Any = None
    waits_on: Any = msgspec.field(name="wait_on_stream", default=None)
    recorded_by: Any = msgspec.field(name="wait_on_cuda_event_record_corr_id", default=None)
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


_decoder = msgspec.json.Decoder(list[Event])


def in_parts(blocks: Iterable[bytes]) -> Iterator[list[Event]]:
    """The events of a trace that is valid JSON, in the order of its text.

    Raises one of NOT_IN_PARTS if it isn't, or has what isn't expected, also after some parts.
    """
    source = iter(blocks)
    before, rest = _start(source)
    for block in source:
        rest += block
        if cut := _last_cut(rest):
            yield _decoder.decode(b"[" + rest[: cut[0]] + b"]")
            rest = rest[cut[1] :]
        elif len(rest) > LONGEST:
            raise ValueError("it has too few events for its size")
    text = "[" + rest.decode()
    _, end = json.JSONDecoder().raw_decode(text)
    found = json.loads(before.decode() + "]" + text[end:])
    if (found.get("traceEvents") if isinstance(found, dict) else found) != []:
        raise ValueError("its list of events is in another place")
    yield _decoder.decode(text[:end])


NOT_IN_PARTS = (ValueError, RecursionError, *BROKEN_GZIP, msgspec.MsgspecError)


def _start(blocks: Iterator[bytes]) -> tuple[bytes, bytes]:
    """What is before the first event, and the beginning of what follows.

    Raises TraceError without reading on where that is too far away, whatever is there.
    """
    data = b""
    for block in blocks:
        new = max(0, len(data) - OVERLAP)
        data += block
        if begin := START.search(data, new):
            return data[: begin.end()], data[begin.end() :]
        if len(data) > LONGEST:
            raise TraceError(
                f"its first {LONGEST >> 20} MiB have no list of traceEvents: it isn't a trace of "
                f"torch.profiler; {GIVE}"
            )
    raise ValueError("it has no list of traceEvents")


def _last_cut(data: bytes) -> tuple[int, int] | None:
    """The end of an event and the beginning of the next one, the last ones in some text."""
    at = len(data)
    while (at := data.rfind(b"}", 0, at)) >= 0:
        if found := NEXT.match(data, at):
            return at + 1, found.end()
    return None


def one_by_one(text: str) -> tuple[list[Event], bool]:
    """The events of any text, an empty one for each that isn't JSON or no event; and whether it
    ends in the middle. Raises TraceError if it isn't a trace."""
    begin = re.search(START.pattern.decode(), text)
    if not begin:
        raise TraceError(
            "it is neither an export of nsys nor a trace of torch.profiler, with a list of "
            f"traceEvents, and begins with {text[:SHOWN]!r}; {GIVE}"
        )
    decoder = json.JSONDecoder(object_hook=_kept, parse_float=str, strict=False)
    between, event_at = re.compile(NEXT.pattern.decode()), re.compile(r"[^ ,\n\r\t]")
    at, rows = event_at.search(text, begin.end()), list[Event]()
    while at and at[0] != "]":
        try:
            event, end = decoder.raw_decode(text, at.start())
            rows.append(event if isinstance(event, Event) else Event())
        except (ValueError, RecursionError):
            after = between.search(text, at.start())
            rows += [Event()] if after else []
            end = after.end() if after else len(text)
        at = event_at.search(text, end)
    return rows, at is None


def _kept(found: dict[str, Any]) -> Any:
    """An object of the file: an event, or anything else as it is."""
    if found.get("ph") is None:
        return found
    own: dict[str, Any] = {name: found.get(name) for name in Event.__struct_fields__}
    for name in ("ts", "dur"):
        own[name] = msgspec.Raw(json.dumps(own[name], default=str).encode())
    own["cat"] = str(found.get("cat", ""))
    given = own["args"] if isinstance(own["args"], dict) else {}
    own["args"] = Arguments(*map(given.get, Arguments.__struct_encode_fields__))
    return Event(**own)
