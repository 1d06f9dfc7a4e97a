"""Intervals of time as arrays, and their union."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
Integers = npt.NDArray[np.signedinteger]

BEFORE_ALL, AFTER_ALL = -(2**62), 2**62
"""Times (ns) before and after all others."""


def in_time(start: Indices, end: Indices) -> bool:
    """Whether intervals are in order of start, then of end."""
    before, same = start[:-1] < start[1:], start[:-1] == start[1:]
    return bool((before | (same & (end[:-1] <= end[1:]))).all())


@dataclass(frozen=True)
class Union:
    """Disjoint intervals [starts[i], ends[i]) in order, in integer nanoseconds.

    first: for each, the row of the given interval that it starts with.
    """

    starts: Indices
    ends: Indices
    first: Indices

    @classmethod
    def of(cls, start: Indices, end: Indices) -> "Union":
        """The union of any intervals [start, end); those that touch become one."""
        order = None if in_time(start, end) else np.lexsort((end, start))
        if order is not None:
            start, end = start[order], end[order]
        end = np.maximum.accumulate(end)
        begins = np.append(True, start[1:] > end[:-1])[: len(start)]
        first = np.flatnonzero(begins) if order is None else order[begins]
        return cls(start[begins], end[np.roll(begins, -1)], first)

    @cached_property
    def _before(self) -> Indices:
        """How much of the time before each interval is covered."""
        lengths = self.ends - self.starts
        return np.asarray(np.cumsum(lengths) - lengths, dtype=np.int64)

    def total(self) -> int:
        """How much time is covered (ns)."""
        return int((self.ends - self.starts).sum())

    def holds(self, moments: Indices) -> npt.NDArray[np.bool_]:
        """Whether each moment (ns) lies in an interval."""
        at = np.searchsorted(self.starts, moments, side="right") - 1
        return np.asarray((at >= 0) & (moments < np.append(self.ends, 0)[at]))

    def until(self, moments: Indices) -> Indices:
        """How much of the time before each moment (ns) is covered."""
        if not len(self.starts):
            return np.zeros(len(moments), dtype=np.int64)
        # The interval that began last; before the first one, no part of that is over.
        at = np.maximum(np.searchsorted(self.starts, moments, side="right") - 1, 0)
        inside = np.clip(moments, self.starts[at], self.ends[at]) - self.starts[at]
        return np.asarray(self._before[at] + inside, dtype=np.int64)
