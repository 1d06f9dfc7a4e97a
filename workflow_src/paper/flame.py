"""A flame chart of device time: range paths from the outermost down, the widths exact."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from workflow_src.paper.svg import (
    COLORS,
    EMPTY_HEIGHT,
    LEFT,
    Boxes,
    chart,
    label,
    legend,
    palette,
    picture,
)

HIGH, TITLE = 18, 22

MOST_BOXES = 2000
"""Of a chart without thinning. In one with more, a box is narrow if as many would fill a row: half
a point of a picture."""

NARROW = "narrow ranges"
"""Stands for them, with their number."""

Times = Mapping[tuple[str, str], int]
"""Device time (ns) by range path and family."""


@dataclass(frozen=True)
class Chart:
    """The title of a chart, and its device time."""

    title: str
    times: Times

    @property
    def total_ns(self) -> int:
        """All of its device time (ns)."""
        return sum(self.times.values())


def flame(charts: Sequence[Chart], order: Sequence[str]) -> str:
    """Charts, each a row per depth of path, ranges in the order of `order`.

    If there are more names than colors, there is no legend. Of many ranges, narrow ones are one.
    """
    charts = [replace(each, times=thinned(each.times)) for each in charts]
    there = {part for each in charts for part in _parts(each.times)}
    colors = palette(sorted(there, key=lambda name: _rank(name, order)))
    parts, top = [], 4.0
    for each in charts:
        boxes = list(_boxes(each.times, colors, order))
        height = max((box.top + box.height for box in boxes), default=float(EMPTY_HEIGHT))
        parts.append(label(each.title, 4, top + 14, weight="bold"))
        top += TITLE
        parts += [_depth_label(depth, top) for depth in range(round(height / HIGH))]
        parts.append(chart(boxes, top, each.total_ns, height))
        top += height + 10
    names, height = legend(colors if len(colors) <= len(COLORS) else {}, top)
    return picture([*parts, names], top + height + 6)


def _rank(name: str, order: Sequence[str]) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order)), name


def _parts(times: Times) -> set[str]:
    return {part for path, _ in times for part in path.split("/")}


def _depth_label(depth: int, top: float) -> str:
    text = "range" if depth == 0 else f"depth {depth}"
    return label(text, LEFT - 6, top + HIGH * depth + 13, anchor="end")


def _boxes(times: Times, colors: Mapping[str, str], order: Sequence[str]) -> Iterator[Boxes]:
    """A box per range path, as wide as the device time launched in it and in ranges inside it."""
    total = sum(times.values())
    starts: dict[str, int] = {}
    families: dict[str, dict[str, int]] = {}
    at = 0
    for (path, family), ns in _ordered(times, order):
        for here in _prefixes(path):
            starts.setdefault(here, at)
            found = families.setdefault(here, {})
            found[family] = found.get(family, 0) + ns
        at += ns
    for path, by_family in families.items():
        name, ns = path.rpartition("/")[2], sum(by_family.values())
        text = f"{path}: {ns:,} ns, {100 * ns / total:.1f} %\n{_most_first(by_family)}"
        span = [(starts[path], ns)]
        yield Boxes(HIGH * path.count("/"), HIGH - 1, colors[name], text, span, name)


def _prefixes(path: str) -> list[str]:
    """A path's outer ones and itself, the outermost first."""
    return list(accumulate(path.split("/"), "{}/{}".format))


def thinned(times: Times) -> Times:
    """Times in which paths too narrow to be seen are one, beside the others of the path above.

    Times of at most MOST_BOXES paths stay as they are.
    """
    widths: dict[str, int] = {}
    for (path, _), ns in times.items():
        for here in _prefixes(path):
            widths[here] = widths.get(here, 0) + ns
    if len(widths) <= MOST_BOXES:
        return times
    least = sum(times.values()) / MOST_BOXES
    narrow = {path for path, ns in widths.items() if ns < least}
    inside = Counter(above for path in narrow if (above := _above(path)) not in narrow)
    found: dict[tuple[str, str], int] = {}
    for (path, family), ns in times.items():
        outermost = next((here for here in _prefixes(path) if here in narrow), None)
        if outermost is not None:
            above = _above(outermost)
            path = f"{above}/{NARROW}: {inside[above]:,}".removeprefix("/")
        found[path, family] = found.get((path, family), 0) + ns
    return found


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _ordered(times: Times, order: Sequence[str]) -> list[tuple[tuple[str, str], int]]:
    """The times so that all of a path stand together, each path's own before its inner ranges'."""

    def place(item: tuple[tuple[str, str], int]) -> tuple[list[tuple[int, str]], str]:
        (path, family), _ = item
        return [_rank(name, order) for name in path.split("/")], family

    return sorted(times.items(), key=place)


def _most_first(families: Mapping[str, int]) -> str:
    """Device time by family, most first."""
    ranked = sorted(families.items(), key=lambda item: -item[1])
    return ", ".join(f"{family} {ns:,} ns" for family, ns in ranked)
