"""How the ranges of one thread are nested, whatever they are: also overlapping, also of no length.

A moment belongs to the latest begun of the ranges that are open. A range's parent is the latest
begun of those that hold it from its beginning to its end, so that all ranges of a path are open
while its innermost one is.
"""

from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

import numpy as np

from workflow_src.common.intervals import Indices

NOWHERE = -1
"""No interval: the parent of an outermost one, the range of what was launched in none."""

DEEPEST = 100
"""Levels of ranges in a path: those of a program that forgets to close one in each step would fill
the memory."""


@dataclass(frozen=True)
class Nesting:
    """How intervals [start, end) of one thread are nested.

    rows, parent: the row of each interval, and of its parent, or NOWHERE. starts, ends, above,
    lasting: of those that last, in order of start, outer ones first: above is the place of what
    holds each, or NOWHERE, whose own end and row come last. overlapping: how many outlast one that
    they began in.
    """

    rows: Indices
    parent: Indices
    starts: Indices
    ends: Indices
    above: Indices
    lasting: Indices
    overlapping: int

    @cached_property
    def times(self) -> Indices:
        """When the innermost open interval may change."""
        return np.sort(np.append(self.starts, self.ends[:-1]))

    def at(self, moments: Indices) -> Indices:
        """The innermost interval open at each moment (ends excluded), or NOWHERE."""
        place = np.searchsorted(self.starts, moments, side="right") - 1
        over = np.flatnonzero(self.ends[place] <= moments)
        while len(over):
            place[over] = self.above[place[over]]
            over = over[self.ends[place[over]] <= moments[over]]
        return np.asarray(self.lasting[place], dtype=np.int64)


def tree(start: Indices, end: Indices, rows: Indices | None = None) -> Nesting:
    """The nesting of some of the intervals [start, end), or of all; none ends before it starts."""
    rows = np.arange(len(start)) if rows is None else rows
    start, end = start[rows], end[rows]
    order = np.lexsort((-end, start))
    order = order[end[order] > start[order]]
    begins, ends = start[order].tolist(), end[order].tolist()
    above, overlap = _holders(begins, ends)
    lasting = np.append(rows[order], NOWHERE)
    padded = np.append(end[order], np.iinfo(np.int64).max)
    overlapping = _outlasting(begins, ends) if overlap else 0
    found = Nesting(rows, rows.copy(), start[order], padded, above, lasting, overlapping)
    found.parent[:] = found.at(start)
    found.parent[order] = lasting[above]
    return found


def _holders(begins: list[int], ends: list[int]) -> tuple[Indices, bool]:
    """The place of the latest begun interval that holds each, and whether any overlap."""
    above, is_open, overlap = [NOWHERE] * len(ends), list[int](), False
    for place, end in enumerate(ends):
        while is_open and ends[is_open[-1]] < end:
            overlap |= ends[is_open.pop()] > begins[place]
        if is_open:
            above[place] = is_open[-1]
        is_open.append(place)
    return np.array(above, dtype=np.int64), overlap


def _outlasting(begins: list[int], ends: list[int]) -> int:
    """How many intervals, in order of start, end after one that was open when they began."""
    count, open_until = 0, list[int]()
    for begin, end in zip(begins, ends, strict=True):
        while open_until and open_until[0] <= begin:
            heappop(open_until)
        count += bool(open_until) and open_until[0] < end
        heappush(open_until, end)
    return count


def flattened(parent: Indices, deepest: int = DEEPEST) -> tuple[Indices, int]:
    """Parents by which no range is deeper than `deepest`, and how many ranges were.

    A deeper one becomes the child of what holds it at the level before that.
    """
    up, level = np.append(parent, NOWHERE), np.append((parent != NOWHERE).astype(np.int64), 0)
    while (up != NOWHERE).any():
        level, up = level + level[up], up[up]
    # From 0. The range itself, or if it is too deep, what holds it at the last level but one.
    level = level[:-1]
    holder = np.where(level < deepest - 1, np.arange(len(parent)), parent)
    while (level[holder] >= deepest - 1).any():
        holder = holder[holder]
    return np.where(level >= deepest, holder, parent), int((level >= deepest).sum())
