"""A flame chart of device time: range paths from the outermost down, the widths exact."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workflow_src.render.svg import (
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

    If there are more names than colors, there is no legend.
    """
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
    ordered = _ordered(times, order)
    starts: dict[str, int] = {}
    widths: dict[str, int] = {}
    at = 0
    for (path, _), ns in ordered:
        names = path.split("/")
        for depth in range(len(names)):
            here = "/".join(names[: depth + 1])
            starts.setdefault(here, at)
            widths[here] = widths.get(here, 0) + ns
        at += ns
    for path, ns in widths.items():
        name = path.rpartition("/")[2]
        text = f"{path}: {ns:,} ns, {100 * ns / total:.1f} %\n{_families(times, path)}"
        span = [(starts[path], ns)]
        yield Boxes(HIGH * path.count("/"), HIGH - 1, colors[name], text, span, name)


def _ordered(times: Times, order: Sequence[str]) -> list[tuple[tuple[str, str], int]]:
    """The times so that all of a path stand together, each path's own before its inner ranges'."""

    def place(item: tuple[tuple[str, str], int]) -> tuple[list[tuple[int, str]], str]:
        (path, family), _ = item
        return [_rank(name, order) for name in path.split("/")], family

    return sorted(times.items(), key=place)


def _families(times: Times, path: str) -> str:
    """Device time launched in a path by family, most first."""
    found: dict[str, int] = {}
    for (where, family), ns in times.items():
        if where == path or where.startswith(path + "/"):
            found[family] = found.get(family, 0) + ns
    ranked = sorted(found.items(), key=lambda item: -item[1])
    return ", ".join(f"{family} {ns:,} ns" for family, ns in ranked)
