"""Which times can't be: they are told, and added up nowhere.

Profilers write durations that overflowed (TraceLens #669), timestamps of 0 (spark-rapids-jni #2255)
and, after a clock was set, times of another epoch.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from workflow_src.common.intervals import Indices

LONGEST_NS = 86_400 * 10**9
"""A day. What begins or ends further than that from the middle event isn't of the same capture."""

QUEUED_NS = 60 * 10**9
"""A minute. Work runs on after the last call that was recorded, but the queue of a device isn't
that long: the host waits when 1,024 launches are in it."""

SAMPLE = 10_001
"""Events that the middle one is looked for among, evenly taken from all."""

Window = tuple[int, int]


def window(starts: Sequence[Indices]) -> Window | None:
    """The times (ns) within a day of the median of some events' starts; None without events."""
    samples = [each[:: max(1, len(each) // SAMPLE)] for each in starts]
    if not sum(map(len, samples)):
        return None
    every = np.sort(np.concatenate(samples))
    middle = int(every[len(every) // 2])
    return middle - LONGEST_NS, middle + LONGEST_NS


def of_work(start: Indices, end: Indices, possible: Window) -> Window:
    """The times (ns) in which work of a device can be, by the API calls from `start` to `end`.

    Without calls, what is `possible` at all.
    """
    good = ~outside(start, end, possible)
    if not good.any():
        return possible
    return int(start[good].min()) - QUEUED_NS, int(end[good].max()) + QUEUED_NS


def outside(start: Indices, end: Indices, possible: Window) -> npt.NDArray[np.bool_]:
    """Which events begin or end outside of a window."""
    first, last = possible
    return np.asarray((start < first) | (end > last))
