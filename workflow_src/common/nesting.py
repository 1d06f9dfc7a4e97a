"""How the ranges of one thread are nested, whatever they are: also overlapping, also of no length.

A moment belongs to the latest begun of the ranges that are open. A range's parent is the latest
begun of the open ranges that hold it from its beginning to its end, so that all ranges of a path
are open while its innermost one is.
"""

from bisect import insort
from dataclasses import dataclass

import numpy as np

from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices

NOWHERE = -1
"""No interval: the parent of an outermost one, the range of what was launched in none."""

DEEPEST = 100
"""Levels of ranges in a path. A program that forgets to close a range in each step nests them
without end: its paths would fill the memory."""


@dataclass(frozen=True)
class Nesting:
    """How intervals of one thread are nested.

    parent: for each interval, the row of the one that directly encloses it, or NOWHERE.
    times, innermost: from times[i] to times[i + 1] the innermost open interval is innermost[i].
    """

    parent: Indices
    times: Indices
    innermost: Indices

    def at(self, moments: Indices) -> Indices:
        """The innermost interval open at each moment (ends excluded), or NOWHERE."""
        if not len(self.times):
            return np.full(len(moments), NOWHERE)
        slot = np.searchsorted(self.times, moments, side="right") - 1
        return np.where(slot < 0, NOWHERE, self.innermost[slot])


def nest(start: Indices, end: Indices) -> Nesting:
    """Nest intervals [start, end) of one thread, each of positive length.

    Raises TraceError if two of them overlap and neither encloses the other.
    """
    count = len(start)
    rows = np.lexsort((-end, start))
    rank = np.empty(count, dtype=np.int64)
    rank[rows] = np.arange(count)
    # At equal times, intervals close before others open; of intervals that close together the
    # inner one comes first, of intervals that open together the outer one.
    times = np.concatenate([start, end])
    opens = np.repeat([1, 0], count)
    order = np.lexsort((np.concatenate([rank, -rank]), opens, times))
    depth_after = np.cumsum(np.where(opens[order], 1, -1))
    owner = np.tile(np.arange(count), 2)[order]
    opening = opens[order] == 1
    depth = np.empty(count, dtype=np.int64)
    depth[owner[opening]] = depth_after[opening]
    parent = _parents(depth, rows)
    held = parent != NOWHERE
    if (end[held] > end[parent[held]]).any():
        raise TraceError("two ranges of one thread overlap, and neither holds the other")
    return Nesting(parent, times[order], np.where(opening, owner, parent[owner]))


def _parents(depth: Indices, rows: Indices) -> Indices:
    """The parent of each interval: the last one before it in `rows` that is one level up."""
    parent = np.full(len(depth), NOWHERE)
    sorted_depth = depth[rows]
    for level in range(2, int(depth.max(initial=0)) + 1):
        outer = np.flatnonzero(sorted_depth == level - 1)
        inner = np.flatnonzero(sorted_depth == level)
        parent[rows[inner]] = rows[outer[np.searchsorted(outer, inner) - 1]]
    return parent


@dataclass(frozen=True)
class Tree:
    """The nesting of one thread's ranges, and how many of them outlast one that they began in."""

    nesting: Nesting
    overlapping: int


def tree(start: Indices, end: Indices) -> Tree:
    """The nesting of intervals [start, end), in the order given; none ends before it starts."""
    lasting = np.flatnonzero(end > start)
    begins, ends = start[lasting], end[lasting]
    try:
        inner, overlapping = nest(begins, ends), 0
    except TraceError:
        inner, overlapping = nest_overlapping(begins, ends)
    numbers = np.append(lasting, NOWHERE)
    parent = numbers[inner.at(start)]
    parent[lasting] = numbers[inner.parent]
    return Tree(Nesting(parent, inner.times, numbers[inner.innermost]), overlapping)


def nest_overlapping(start: Indices, end: Indices) -> tuple[Nesting, int]:
    """As `nest`, for intervals of which some overlap and neither holds the other; how many do."""
    count = len(start)
    ranked = np.lexsort((-end, start))
    times = np.concatenate([start[ranked], end[ranked]])
    opens = np.repeat([1, 0], count)
    order = np.lexsort((np.tile(np.arange(count), 2), opens, times))
    parent, innermost, overlapping = np.full(count, NOWHERE), np.full(2 * count, NOWHERE), 0
    ends = end.tolist()
    is_open: list[int] = []
    closing: list[int] = []
    events = zip(np.tile(ranked, 2)[order].tolist(), opens[order].tolist(), strict=True)
    for event, (row, opening) in enumerate(events):
        if opening:
            holders = (other for other in reversed(is_open) if ends[other] >= ends[row])
            parent[row] = next(holders, NOWHERE)
            overlapping += bool(closing) and closing[0] < ends[row]
            is_open.append(row)
            insort(closing, ends[row])
        else:
            is_open.remove(row)
            closing.remove(ends[row])
        innermost[event] = is_open[-1] if is_open else NOWHERE
    return Nesting(parent, times[order], innermost), overlapping


def flattened(parent: Indices, deepest: int = DEEPEST) -> tuple[Indices, int]:
    """Parents by which no range is deeper than `deepest`, and how many ranges were.

    A deeper one becomes the child of the range that holds it at the level before that.
    """
    up, depth = np.append(parent, NOWHERE), np.append((parent != NOWHERE).astype(np.int64), 0)
    while (up != NOWHERE).any():
        depth, up = depth + depth[up], up[up]
    levels = depth[:-1] + 1
    at, steps, up = np.arange(len(parent)), levels - deepest + 1, np.append(parent, NOWHERE)
    while (steps > 0).any():
        at, steps, up = np.where(steps % 2 == 1, up[at], at), steps // 2, up[up]
    return np.where(levels > deepest, at, parent), int((levels > deepest).sum())
