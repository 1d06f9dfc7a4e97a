"""The events of a trace by what they are: a table of each part."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from msgspec.structs import replace

from workflow_src.captures.autograd import is_evaluation
from workflow_src.captures.capture import COPY, KERNEL, LATEST_NS, SET, UNKNOWN, coded
from workflow_src.captures.events import BAD, NOT_A_TIME, Event, events_of, integers, times
from workflow_src.captures.rows import Parts
from workflow_src.common.intervals import Indices
from workflow_src.common.printable import printable

WORK = {
    "kernel": KERNEL,
    "hpu_op": KERNEL,
    "gpu_memcpy": COPY,
    "gpu_memset": SET,
}
"""The kind of a device's work, by category, of any vendor (Kineto's ActivityType.cpp)."""

THREAD_NAME = "thread_name"
"""The name of events that name a thread."""

PARTS = {
    "user_annotation": "ranges",
    **dict.fromkeys(WORK, "work"),
    "overhead": "overheads",
    "cpu_op": "operators",
    THREAD_NAME: "threads",
}
"""The part of an event, by its category, which torch so names since 1.12."""

API = ("_runtime", "_driver")
NOT_WORK = ("gpu_user_annotation", "cuda_sync", "xpu_sync", "cuda_event", "gpu_pm_counter")
"""Ends of categories of calls: CUDA's, HIP's, XPU's and others'; and categories of events on a
device's stream that are no work."""

LASTING, BEGIN, END, METADATA = "X", "B", "E", "M"
"""Phases: of events that last, that begin and end apart, and that say something of a thread."""

NUMBERS: Mapping[str, tuple[str, ...]] = {
    "calls": ("correlation",),
    "work": ("correlation", "device", "stream", "bytes"),
    "autograd": ("number", "forward_thread"),
}
"""What is read of the arguments of each part's events besides."""

ALWAYS, FIRST_TEXT = ("threads", "autograd"), 2**30
"""Parts that are always read, and the number of the first process or thread that the file names by
text; systems count lower."""


@dataclass
class Trace:
    """The parts of a trace while they are read.

    lost: how many events are bad or endless, by note; unread: how many lasting ones may be work, by
    category ("" for none); texts: the numbers of processes and threads that are named by text.
    """

    wanted: tuple[str, ...]
    lost: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    texts: dict[str, int] = field(default_factory=dict)
    _columns: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    _names: dict[str, int] = field(default_factory=dict)
    _marks: list[Event] = field(default_factory=list)

    def add(self, events: Iterable[Event]) -> None:
        """Keep what is of use of some events, but nothing that holds on to the text of the file."""
        groups = defaultdict[str | None, list[Event]](list)
        for event in events:
            if event.ph == LASTING:
                groups[event.cat].append(event)
            elif event.ph in (BEGIN, END):
                self._marks.append(event)
            elif event.ph is None:
                self.lost[BAD] += 1
            elif event.ph == METADATA and event.name == THREAD_NAME:
                groups[THREAD_NAME].append(event)
        for category, some in groups.items():
            part = part_of(category)
            if part is None and category not in NOT_WORK:
                # Of an unknown category, what is on a stream, or has none, may be work.
                likely = [e for e in some if not category or e.args.stream is not None]
                self.unread += Counter({category or "": len(likely)})
            if part == "operators":
                # Those that tell what made autograd's nodes, which may be kept twice.
                made = [e for e in some if e.args.number is not None or is_evaluation(e.name)]
                self._keep("autograd", category, made)
            if part in (*self.wanted, *ALWAYS):
                self._keep(part, category, some)

    def _keep(self, part: str, category: str | None, events: list[Event]) -> None:
        """Keep events of a part that have a time and, unless they need none, a length."""
        start = length = np.zeros(len(events), dtype=np.int64)
        if part != "threads":
            start, length = (times([*map(attrgetter(n), events)]) for n in ("ts", "dur"))
        timed, lasts = start != NOT_A_TIME, length >= 0
        good = timed & (lasts | (part == "calls"))
        self.lost[f"bad {part}"] += int((~good).sum())
        self.lost[f"endless {part}"] += int((good & ~lasts).sum())
        events = events if good.all() else [events[n] for n in np.flatnonzero(good).tolist()]
        codes = self._names
        said = [event.args.name if part == "threads" else event.name for event in events]
        names = [name if isinstance(name, str) else "(no name)" for name in said]
        columns = {
            "name": np.array([codes.setdefault(name, len(codes)) for name in names], np.int32),
            "start_ns": start[good],
            "end_ns": np.where(lasts, start + length, start)[good],
            "process": self._identities([*map(attrgetter("pid"), events)]),
            "thread": self._identities([*map(attrgetter("tid"), events)]),
        }
        if part == "work":
            columns["kind"] = np.full(len(events), [*WORK].index(str(category)), dtype=np.int8)
        for name in NUMBERS.get(part, ()):
            columns[name] = integers([*map(attrgetter(f"args.{name}"), events)])
        self._columns[part].append(columns)

    def pair(self) -> None:
        """Add each event that begins apart as one that lasts to its end: on a thread, an end is
        that of what began last. Without one a range ends at LATEST_NS."""
        marks, at = self._marks, times([mark.ts for mark in self._marks]).tolist()
        lengths, threads = dict[int, int](), defaultdict[tuple[str, str], list[int]](list)
        timed = [row for row, ns in enumerate(at) if ns != NOT_A_TIME]
        self.lost[BAD] += len(marks) - len(timed)
        for row in sorted(timed, key=at.__getitem__):
            mark = marks[row]
            still_open = threads[str(mark.pid), str(mark.tid)]
            if mark.ph == BEGIN:
                still_open.append(row)
                lengths[row] = LATEST_NS - at[row] if part_of(mark.cat) == "ranges" else -1
            elif still_open:
                begun = still_open.pop()
                lengths[begun] = at[row] - at[begun]
            else:
                self.lost[BAD] += 1
        us = {row: f"{ns // 1000}.{ns % 1000:03}".encode() for row, ns in lengths.items()}
        self.add(replace(marks[row], ph=LASTING, dur=msgspec.Raw(us[row])) for row in us)

    def _identities(self, values: Sequence[Any]) -> Indices:
        found = integers(values)
        for row in np.flatnonzero(found == UNKNOWN).tolist():
            if isinstance(text := values[row], str) and text:
                found[row] = self.texts.setdefault(text, FIRST_TEXT + len(self.texts))
        return found

    def parts(self) -> Parts:
        """A table of each part: name, start_ns, end_ns, process, thread, its NUMBERS, and the kind
        of work."""
        texts, found = [printable(name) for name in self._names], Parts()
        for part in (*self.wanted, *ALWAYS):
            self._keep(part, "kernel", [])
            lists, columns = self._columns.pop(part), dict[str, Any]()
            for name in [*lists[0]]:
                columns[name] = np.concatenate([each.pop(name) for each in lists])
            columns["name"] = coded(columns["name"], texts)
            if part == "work":
                columns["kind"] = coded(columns["kind"], [*WORK.values()])
            found[part] = pd.DataFrame(columns, copy=False)
        return found


def parts_of(text: Iterable[bytes], wanted: tuple[str, ...]) -> Trace:
    """Some parts of a trace that is given in blocks. Raises TraceError if it isn't one."""
    found = Trace(wanted)
    for events in events_of(text, found.lost):
        found.add(events)
    found.pair()
    return found


def part_of(category: str | None) -> str | None:
    """The part of the events of a category."""
    name = str(category)
    return PARTS.get(name, "calls" if name.endswith(API) else None)
