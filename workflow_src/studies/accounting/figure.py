"""The figure of the accounting study: a roofline per precision."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from workflow_src.render.drawing import LINE_COLORS, MARKERS, label_left, legend_of, nothing
from workflow_src.studies.accounting.analyze import components, peak_rates, roof
from workflow_src.studies.accounting.work import FORMULA, SHAPES
from workflow_src.studies.study import Row

Rows = Sequence[Row]


def figure(table: pd.DataFrame) -> Figure:
    """A panel per precision: the roof, and a point per component (color) and size (marker)."""
    rows, rates = components(table), peak_rates(table)
    precisions = [name for name in rates if any(row["precision"] == name for row in rows)]
    if not precisions:
        return nothing("no component of a forward pass was measured")
    drawn, grid = plt.subplots(
        1,
        len(precisions),
        figsize=(4.2 * len(precisions) + 1.6, 3.8),
        squeeze=False,
        sharex=True,
        sharey=True,
        layout="constrained",
    )
    names = list(dict.fromkeys(row["words"] for row in rows))
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    for precision, axes in zip(precisions, grid.flat, strict=True):
        mine = [row for row in rows if row["precision"] == precision]
        _roof(axes, mine, rates[precision])
        _points(axes, mine, names, sizes)
        axes.set_title(precision, fontsize=10)
        axes.set_xlabel(f"FLOPs per byte{_bytes_in_words(mine)}")
    _keys(grid.flat[0], names, sizes)
    label_left(drawn, "TFLOP/s")
    legend_of(drawn)
    return drawn


def _bytes_in_words(rows: Rows) -> str:
    """Which bytes those of the components are; nothing if not all are of one kind."""
    sources = {row.get("work_from") or FORMULA for row in rows}
    if len(sources) > 1:
        return ""
    return " moved" if sources == {SHAPES} else " of minimum traffic"


def _roof(axes: Axes, rows: Rows, rates: tuple[float, float]) -> None:
    ridge = rates[0] * 1e3 / rates[1]
    intensities = [row["flops_per_byte"] for row in rows]
    low, high = min(*intensities, ridge) / 2, max(*intensities, ridge) * 2
    over = np.array([low, ridge, high])
    axes.plot(over, [roof(x, rates) for x in over], color="black", label="measured ceilings")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.set_minor_formatter(NullFormatter())


def _points(axes: Axes, rows: Rows, names: Sequence[str], sizes: Sequence[str]) -> None:
    for row in rows:
        axes.plot(
            row["flops_per_byte"],
            row["tflop_per_s"],
            color=LINE_COLORS[names.index(row["words"]) % len(LINE_COLORS)],
            marker=MARKERS[sizes.index(row["size"]) % len(MARKERS)],
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
