"""How the ranges of one thread are nested, whatever they are: also overlapping, also of no length.

A moment belongs to the latest begun of the ranges that are open. A range's parent is the latest
begun of the open ranges that hold it from its beginning to its end, so that all ranges of a path
are open while its innermost one is.
"""

from dataclasses import dataclass

import numpy as np

from workflow_src.common.errors import TraceError
from workflow_src.traces.attribution import NOWHERE, Nesting, nest
from workflow_src.traces.intervals import Indices


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
    events = zip(np.tile(ranked, 2)[order].tolist(), opens[order].tolist(), strict=True)
    for event, (row, opening) in enumerate(events):
        if opening:
            holders = [other for other in is_open if ends[other] >= ends[row]]
            overlapping += len(holders) < len(is_open)
            parent[row] = holders[-1] if holders else NOWHERE
            is_open.append(row)
        else:
            is_open.remove(row)
        innermost[event] = is_open[-1] if is_open else NOWHERE
    return Nesting(parent, times[order], innermost), overlapping
