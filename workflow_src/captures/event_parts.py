"""The events of a trace by what they are, as columns."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from workflow_src.captures.capture import COPY, KERNEL, SET
from workflow_src.captures.event_columns import Columns
from workflow_src.captures.events import NOT_IN_PARTS, Event, in_parts, one_by_one
from workflow_src.captures.files import blocks, content
from workflow_src.captures.thread_ties import TYING, Ties

KINDS = {"kernel": KERNEL, "gpu_memcpy": COPY, "gpu_memset": SET, "memcpy": COPY, "memset": SET}
"""The kind of a device's work, by category."""

CALLS = ("cuda_runtime", "cuda_driver", "runtime", "driver", "hip_runtime")
PARTS = {
    "user_annotation": "range",
    **dict.fromkeys(KINDS, "work"),
    **dict.fromkeys(CALLS, "call"),
    "overhead": "overhead",
    **dict.fromkeys(("cpu_op", "operator"), "operator"),
}
"""The part that an event belongs to, by its category in lower case."""

LASTING = "X"
"""The phase of events that have a length."""


@dataclass(frozen=True)
class Parts:
    """The columns of each part, and what is said of threads; `bad`: objects that are no events;
    `cut_off`: whether more is missing."""

    columns: dict[str, Columns]
    ties: Ties
    bad: int
    cut_off: bool


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
    names: dict[object, str] = {}
    columns = {part: [Columns.of([], names)] for part in wanted}
    bad, ties = 0, Ties()
    for events in lists:
        by_category, tying = defaultdict(list), list[Event]()
        for event in events:
            if event.ph == LASTING:
                by_category[event.cat].append(event)
            elif event.ph is None:
                bad += 1
            elif event.ph in TYING:
                tying.append(event)
        ties.add(tying)
        for category, some in by_category.items():
            part = PARTS.get(str(category).lower())
            if part in columns:
                columns[part].append(Columns.of(some, names))
    return Parts({part: Columns.joined(some) for part, some in columns.items()}, ties, bad, False)
