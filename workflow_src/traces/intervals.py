"""Intervals of time as arrays: their union, and how much of the time it covers."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Union:
    """Disjoint intervals [starts[i], ends[i]) in order of time, in integer nanoseconds.

    first: for each, the row of the given interval that it starts with.
    """

    starts: Indices
    ends: Indices
    first: Indices

    @classmethod
    def of(cls, start: Indices, end: Indices) -> "Union":
        """The union of any intervals [start, end); those that touch become one."""
        order = np.lexsort((end, start))
        start, reached = start[order], np.maximum.accumulate(end[order])
        begins = np.flatnonzero(np.append(True, start[1:] > reached[:-1])[: len(start)])
        last = np.append(begins[1:], len(start))[: len(begins)] - 1
        return cls(start[begins], reached[last], order[begins])

    def until(self, moments: Indices) -> Indices:
        """How much of the time before each moment (ns) is covered."""
        lengths = self.ends - self.starts
        before = np.concatenate([[0], np.cumsum(lengths)])
        at = np.searchsorted(self.starts, moments, side="right")
        ends = np.append(self.ends, 0)[at - 1]
        still_open = np.where(at > 0, np.maximum(ends - moments, 0), 0)
        return np.asarray(before[at] - still_open, dtype=np.int64)
