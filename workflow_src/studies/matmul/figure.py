"""The figure of the matrix multiplication study."""

from collections.abc import Callable, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.paper.drawing import (
    LINE_COLORS,
    MARKERS,
    context_axis,
    log_values,
    nothing,
    row_of,
)
from workflow_src.studies.matmul.analyze import DIVISORS, divisor
from workflow_src.studies.matmul.products import Product, measured, more_waves, products
from workflow_src.studies.matmul.tiles import TILE


def draw(table: pd.DataFrame) -> Figure:
    """A panel for each measured sweep: over size, across the edge, and by divisor."""
    found = products(table)
    drawers: dict[str, Callable[[Axes, list[Product]], None]] = {
        "sizes": draw_sizes,
        "edge": draw_edge,
        "divisibility": draw_divisors,
    }
    panels = [(each, rows) for name, each in drawers.items() if (rows := measured(found, name))]
    if not panels:
        return nothing("no product was measured")
    drawn, grid = row_of(len(panels), (4.2 * len(panels), 3.6))
    for axes, (drawer, rows) in zip(grid, panels, strict=True):
        drawer(axes, rows)
        axes.legend()
    grid[0].set_ylabel("TFLOP/s (of the median time)")
    return drawn


def _points(rows: Sequence[Product]) -> tuple[list[int], list[float]]:
    return [each.n or 0 for each in rows], [each.rate.number for each in rows if each.rate]


def draw_sizes(axes: Axes, rows: list[Product]) -> None:
    """Rate over size, a line per precision."""
    precisions = list(dict.fromkeys(each.precision for each in rows))
    for precision, color, marker in zip(precisions, LINE_COLORS, MARKERS, strict=False):
        points = _points([each for each in rows if each.precision == precision])
        axes.plot(*points, color=color, marker=marker, label=precision)
    log_values(axes)
    context_axis(axes, [each.n or 0 for each in rows])
    axes.tick_params(axis="x", labelrotation=45)
    axes.set_xlabel("n")
    axes.set_title("by size", fontsize=10)


def draw_edge(axes: Axes, rows: list[Product]) -> None:
    """Rate across the assumed edge; lines mark it and where the tiles that ran take more waves."""
    edge = rows[0].line.whole("edge")
    axes.plot(*_points(rows), color=LINE_COLORS[0], marker="o", label=rows[0].precision)
    if edge:
        axes.axvline(edge, color="black", linestyle="--", label=f"edge of {TILE}, n = {edge}")
    if rise := more_waves(rows):
        label = f"{rise.covered[1]} waves from n = {rise.n}"
        axes.axvline(rise.n or 0, color="black", linestyle=":", label=label)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("n")
    axes.set_title("across a tile edge", fontsize=10)


def draw_divisors(axes: Axes, rows: list[Product]) -> None:
    """Rate over size, colored by the largest divisor."""
    for largest, color, marker in zip(DIVISORS, LINE_COLORS, MARKERS, strict=False):
        points = _points([each for each in rows if divisor(each.n or 1) == largest])
        axes.plot(*points, color=color, marker=marker, linestyle="", label=f"by {largest}")
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"n ({rows[0].precision})")
    axes.set_title("by what divides n", fontsize=10)
