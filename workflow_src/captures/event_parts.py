"""The events of a trace by what they are, as columns."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from workflow_src.captures.capture import COPY, KERNEL, SET
from workflow_src.captures.domains import DEFAULT, torch_domain
from workflow_src.captures.event_columns import Columns, Known
from workflow_src.captures.events import NOT_IN_PARTS, Event, in_parts, one_by_one
from workflow_src.captures.files import blocks, content
from workflow_src.captures.paired_events import BEGIN, END, paired
from workflow_src.captures.torch_threads import SYNCHRONIZATION, TYING, Ties

KINDS = {
    "kernel": KERNEL,
    "hpu_op": KERNEL,
    "gpu_memcpy": COPY,
    "gpu_memset": SET,
    "memcpy": COPY,
    "memset": SET,
}
"""The kind of a device's work, by category, of any vendor (Kineto's ActivityType.cpp)."""

ANNOTATION, OLD_OPERATOR = "user_annotation", "Operator"

PARTS = {
    ANNOTATION: "range",
    **dict.fromkeys(KINDS, "work"),
    **dict.fromkeys(("runtime", "driver"), "call"),
    "overhead": "overhead",
    **dict.fromkeys(("cpu_op", "operator"), "operator"),
}
"""The part that an event belongs to, by its category in lower case."""

API = ("_runtime", "_driver")
"""The ends of categories of calls: CUDA's, HIP's, XPU's and others'."""

NOT_WORK = ("gpu_user_annotation", "cuda_sync", "xpu_sync", "cuda_event", "gpu_pm_counter")
"""Categories of events that are on a device's stream and no work."""

LASTING = "X"
"""The phase of events that have a length."""


@dataclass(frozen=True)
class Parts:
    """The columns of each part.

    ties: what is said of threads and streams; bad: objects that are no events; stray: ends of
    events that never began; unread: how many lasting events there are of categories ("" for none)
    that are no part and may be work; cut_off: whether more is missing; texts: the numbers of
    processes and threads that the file names by text.
    """

    columns: Mapping[str, Columns]
    ties: Ties
    bad: int
    stray: int
    unread: Mapping[str, int]
    cut_off: bool
    texts: Mapping[str, int]


def read_parts(path: Path, wanted: tuple[str, ...]) -> Parts:
    """Some parts of a trace: read in parts, or as a whole if the file isn't valid JSON.

    Raises TraceError if it isn't a trace.
    """
    with suppress(*NOT_IN_PARTS):
        return parts_of(in_parts(blocks(path)), wanted)
    data = content(path)
    found = one_by_one(data.text)
    parts = parts_of([found.rows], wanted)
    return replace(parts, bad=parts.bad + found.bad, cut_off=found.cut_off or not data.whole)


def parts_of(lists: Iterable[list[Event]], wanted: tuple[str, ...]) -> Parts:
    """The parts of events that are given in lists; those of other parts are left out."""
    known = Known()
    columns = {part: [Columns.of([], known)] for part in wanted}
    bad, ties, marks, unread = 0, Ties(known), [], Counter[str]()
    for events in lists:
        by_category, tying = defaultdict(list), list[Event]()
        for event in events:
            if event.ph == LASTING:
                by_category[_category(event)].append(event)
            elif event.ph is None:
                bad += 1
            elif event.ph in TYING:
                tying.append(event)
            elif event.ph in (BEGIN, END):
                marks.append(event)
        ties.add(tying)
        for category, some in by_category.items():
            part = part_of(category)
            if category == SYNCHRONIZATION:
                ties.add_waits(some)
            elif part in columns:
                columns[part].append(Columns.of(some, known, endless=part == "call"))
            elif part is None and (count := _maybe_work(category, some)):
                unread[category or ""] += count
    pairs = paired(marks)
    for part in wanted:
        rows = [n for n, event in enumerate(pairs.events) if part_of(event.cat) == part]
        events = [pairs.events[n] for n in rows]
        columns[part].append(Columns.between(events, pairs.start[rows], pairs.end[rows], known))
    joined = {part: Columns.joined(some) for part, some in columns.items()}
    return Parts(joined, ties, bad, pairs.stray, unread, False, known.numbers)


def _category(event: Event) -> str | None:
    """An event's category; that of operators was that of torch's own annotations in 2021, too."""
    if event.cat == OLD_OPERATOR and torch_domain(str(event.name)) != DEFAULT:
        return ANNOTATION
    return event.cat


def part_of(category: str | None) -> str | None:
    """The part of the events of a category."""
    name = str(category).lower()
    return PARTS.get(name, "call" if name.endswith(API) else None)


def _maybe_work(category: str | None, events: list[Event]) -> int:
    """How many events of no known category may be work: those on a stream, or without category."""
    if not category:
        return len(events)
    if category.lower() in NOT_WORK:
        return 0
    return sum(event.args.stream is not None for event in events)
