"""What can't be as the trace says: events that stand twice, were never closed, or whose times
aren't possible."""

from collections.abc import Mapping

import numpy as np

from workflow_src.captures import plausible
from workflow_src.captures.capture import UNKNOWN, Note, left_out_notes, noted
from workflow_src.captures.event_columns import NUMBERS, Columns
from workflow_src.captures.paired_events import NEVER
from workflow_src.captures.rows import in_order, repeated

WHAT = {
    "range": "ranges",
    "call": "API calls",
    "overhead": "overheads of the profiler",
    "work": "device activities",
    "operator": "operators",
}
"""The events of each part."""

TOLD_APART_BY_NUMBER = ("operator", "overhead")
"""Parts in which two events may be alike, so that only the profiler's number says that one is
written twice: two short calls of one operator, where times are whole microseconds."""

Part = Mapping[str, Columns]


def checked(columns: Part) -> tuple[dict[str, Columns], tuple[Note, ...]]:
    """The parts with each event once and closed, and without those of impossible times."""
    once = {part: _once(part, each) for part, each in columns.items()}
    twice = {part: len(columns[part].start) - len(each.start) for part, each in once.items()}
    closed, unclosed = _closed(once)
    possible = {part: _possible(part, each, closed) for part, each in closed.items()}
    lost = {part: len(closed[part].start) - len(each.start) for part, each in possible.items()}
    counts = {WHAT[part]: (twice[part], lost[part]) for part in columns}
    return possible, noted(unclosed=unclosed) + left_out_notes(counts)


def _once(part: str, columns: Columns) -> Columns:
    numbers = [columns.numbers[name] for name in NUMBERS]
    others = (columns.end, *numbers, columns.names, columns.categories)
    again = repeated(in_order(columns.start, others), (columns.start, *others))
    if part in TOLD_APART_BY_NUMBER:
        again = again[columns.numbers["external"][again] != UNKNOWN]
    first = np.ones(len(columns.start), dtype=bool)
    first[again] = False
    return columns.only(first)


def _closed(columns: Part) -> tuple[Part, int]:
    """The parts, events that were never closed ending with the capture, and how many these are."""
    open_ = {part: each.end == NEVER for part, each in columns.items()}
    count = sum(int(which.sum()) for which in open_.values())
    if not count:
        return columns, 0
    last = max(
        int(np.where(open_[part], each.start, each.end).max(initial=0))
        for part, each in columns.items()
    )
    ends = {
        part: np.where(open_[part], np.maximum(each.start, last), each.end)
        for part, each in columns.items()
    }
    return {part: columns[part].ending(ends[part]) for part in columns}, count


def _possible(part: str, columns: Columns, every: Part) -> Columns:
    """The events of a part whose times can be, as `plausible` says."""
    hosts = [each for name, each in every.items() if name != "work"]
    window = plausible.window([each.start for each in hosts if len(each.start)] or [columns.start])
    if window is None:
        return columns
    if part == "work":
        window = plausible.of_work(every["call"].start, every["call"].end, window)
    return columns.only(~plausible.outside(columns.start, columns.end, window))
