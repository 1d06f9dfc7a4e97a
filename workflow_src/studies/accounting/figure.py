"""The figure of the accounting study: a roofline per precision."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from workflow_src.paper.drawing import LINE_COLORS, MARKERS, label_left, legend_of, nothing, row_of
from workflow_src.studies.accounting.roofline import Ceilings, Component, ceilings, components
from workflow_src.studies.accounting.work import FORMULA, SHAPES
from workflow_src.studies.lines import lines

Rows = Sequence[Component]


def draw(table: pd.DataFrame) -> Figure:
    """A panel per precision: the roof, and a point per component (color) and size (marker).

    Only components of one kind of work have a point.
    """
    every = lines(table, "accounting")
    known = ceilings(every)
    rows = [each for each in components(every, known) if each.of_roof]
    found = {name: [each for each in rows if each.line.text("precision") == name] for name in known}
    found = {name: mine for name, mine in found.items() if mine}
    if not found:
        return nothing("no component of one kind of work was measured")
    drawn, grid = row_of(len(found), (4.2 * len(found) + 1.6, 3.8), sharex=True, sharey=True)
    names = list(dict.fromkeys(each.name for each in rows))
    sizes = list(dict.fromkeys(each.line.text("size") for each in rows))
    for (precision, mine), axes in zip(found.items(), grid, strict=True):
        _roof(axes, mine, known[precision])
        _points(axes, mine, names, sizes)
        axes.set_title(precision, fontsize=10)
        axes.set_xlabel(f"FLOPs per byte{_bytes_in_words(mine)}")
    _keys(grid[0], names, sizes)
    label_left(drawn, "TFLOP/s")
    legend_of(drawn)
    return drawn


def _bytes_in_words(rows: Rows) -> str:
    """Which bytes those of the components are; nothing if not all are of one kind."""
    sources = {each.line.text("work_from") or FORMULA for each in rows}
    if len(sources) > 1:
        return ""
    return " moved" if sources == {SHAPES} else " of minimum traffic"


def _roof(axes: Axes, rows: Rows, limits: Ceilings) -> None:
    ridge = limits.ridge.number if limits.ridge else 1.0
    intensities = [each.intensity.number for each in rows]
    over = [min(*intensities, ridge) / 2, ridge, max(*intensities, ridge) * 2]
    axes.plot(over, [limits.roof(x) for x in over], color="black", label="measured ceilings")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.set_minor_formatter(NullFormatter())


def _points(axes: Axes, rows: Rows, names: Sequence[str], sizes: Sequence[str]) -> None:
    for each in rows:
        axes.plot(
            each.intensity.number,
            each.rate.number,
            color=LINE_COLORS[names.index(each.name) % len(LINE_COLORS)],
            marker=MARKERS[sizes.index(each.line.text("size")) % len(MARKERS)],
            linestyle="",
            alpha=0.8,
        )


def _keys(axes: Axes, names: Sequence[str], sizes: Sequence[str]) -> None:
    """Entries of the legend: a color per component, a marker per size."""
    for place, name in enumerate(names):
        color = LINE_COLORS[place % len(LINE_COLORS)]
        axes.plot([], [], color=color, marker="o", linestyle="", label=name)
    for place, size in enumerate(sizes):
        marker = MARKERS[place % len(MARKERS)]
        axes.plot([], [], color="black", marker=marker, linestyle="", fillstyle="none", label=size)
