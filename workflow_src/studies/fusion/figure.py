"""The figure of the fusion study."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from workflow_src.paper.drawing import LINE_COLORS, MARKERS, label_left, legend_of, nothing
from workflow_src.studies.fusion.chapter import largest
from workflow_src.studies.fusion.named import NAMES, OPERATIONS, power
from workflow_src.studies.fusion.points import IMPLEMENTATIONS
from workflow_src.studies.lines import Line, lines, where

DRAWN = ("elements", "columns", "achieved_gb_per_s")


def draw(table: pd.DataFrame) -> Figure:
    """A panel per operation and dtype: GB/s of each implementation over size."""
    measured = [line for line in lines(table, "fusion") if line.ok and line.has(*DRAWN)]
    dtypes = list(dict.fromkeys(line.text("dtype") for line in measured))
    found = {line.text("operation") for line in measured}
    operations = [name for name in IMPLEMENTATIONS if name in found]
    if not operations:
        return nothing("nothing was measured")
    drawn, grid = plt.subplots(
        len(operations),
        len(dtypes),
        figsize=(4.2 * len(dtypes) + 1.6, 3.0 * len(operations)),
        squeeze=False,
        layout="constrained",
    )
    for operation, line in zip(operations, grid, strict=True):
        for dtype, axes in zip(dtypes, line, strict=True):
            _panel(axes, where(measured, operation=operation, dtype=dtype), operation)
            axes.set_title(f"{OPERATIONS[operation]}, {dtype}", fontsize=10)
    label_left(drawn, "GB/s (one read, one write)")
    legend_of(drawn)
    return drawn


def _panel(axes: Axes, measured: Sequence[Line], operation: str) -> None:
    """GeLU over elements; softmax over columns, at its largest number of elements."""
    over = "elements" if operation == "gelu" else "columns"
    shown = measured if operation == "gelu" else largest(measured)
    names = list(NAMES)
    for name in IMPLEMENTATIONS[operation]:
        mine = sorted(where(shown, implementation=name), key=lambda line: line.amount(over))
        if not mine:
            continue
        place = names.index(name) - 1
        axes.plot(
            [line.amount(over) for line in mine],
            [line.amount("achieved_gb_per_s") for line in mine],
            color="black" if name == "copy" else LINE_COLORS[place],
            linestyle="--" if name == "copy" else "-",
            marker="x" if name == "copy" else MARKERS[place],
            label=NAMES[name],
        )
    axes.set_xscale("log", base=2)
    axes.xaxis.set_minor_locator(NullLocator())
    ticks = sorted({line.amount(over) for line in shown})
    axes.set_xticks(ticks, [power(tick) for tick in ticks])
    of = (
        f" (of {power(shown[0].amount('elements'))} elements)"
        if over == "columns" and shown
        else ""
    )
    axes.set_xlabel(over + of)
    axes.set_ylim(bottom=0)
