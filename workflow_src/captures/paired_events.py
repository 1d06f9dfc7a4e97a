"""Events that begin ("ph": "B") and end ("E") apart, as pairs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workflow_src.captures.capture import LATEST_NS
from workflow_src.captures.event_columns import NOT_A_TIME, times
from workflow_src.captures.events import Event
from workflow_src.common.intervals import Indices

BEGIN, END = "B", "E"
NEVER = LATEST_NS
"""When an event ends that isn't closed."""


@dataclass(frozen=True)
class Paired:
    """The events that begin, with start and end (ns, maybe NEVER); stray: ends of nothing."""

    events: list[Event]
    start: Indices
    end: Indices
    stray: int


def paired(marks: Sequence[Event]) -> Paired:
    """Each beginning with its end: the next one on its thread of the same name, or without any.

    By time, and where times are the same by the order of the file, as the trace format says.
    """
    at, ends, stray = times([mark.ts for mark in marks]), np.full(len(marks), NEVER), 0
    begun: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in np.argsort(at, kind="stable").tolist():
        mark = marks[row]
        of_thread = begun[str(mark.pid), str(mark.tid)]
        if at[row] == NOT_A_TIME:
            stray += 1
        elif mark.ph == BEGIN:
            of_thread.append(row)
        else:
            alike = [n for n in of_thread if mark.name in (None, "", marks[n].name)]
            if alike:
                of_thread.remove(alike[-1])
                ends[alike[-1]] = at[row]
            else:
                stray += 1
    rows = [row for row, mark in enumerate(marks) if mark.ph == BEGIN and at[row] != NOT_A_TIME]
    return Paired([marks[row] for row in rows], at[rows], ends[rows], stray)
