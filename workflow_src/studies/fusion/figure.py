"""The figure of the fusion study."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from workflow_src.render.drawing import LINE_COLORS, MARKERS, label_left, legend_of, nothing
from workflow_src.studies.fusion.analyze import NAMES, OPERATIONS, largest, power
from workflow_src.studies.fusion.points import IMPLEMENTATIONS
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Row


def figure(table: pd.DataFrame) -> Figure:
    """A panel per operation and dtype: GB/s of each implementation over size."""
    rows = [row for row in filled(table) if row["status"] == "ok"]
    dtypes = list(dict.fromkeys(row["dtype"] for row in rows))
    operations = [name for name in IMPLEMENTATIONS if any(r["operation"] == name for r in rows)]
    if not rows:
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
            here = [r for r in rows if (r["operation"], r["dtype"]) == (operation, dtype)]
            _panel(axes, here, operation)
            axes.set_title(f"{OPERATIONS[operation]}, {dtype}", fontsize=10)
    label_left(drawn, "GB/s (one read, one write)")
    legend_of(drawn)
    return drawn


def _panel(axes: Axes, rows: Sequence[Row], operation: str) -> None:
    """GeLU over elements; softmax over columns, at its largest number of elements."""
    over = "elements" if operation == "gelu" else "columns"
    shown = rows if operation == "gelu" else largest(rows)
    names = list(NAMES)
    for name in IMPLEMENTATIONS[operation]:
        mine = sorted((r for r in shown if r["implementation"] == name), key=lambda r: int(r[over]))
        if not mine:
            continue
        place = names.index(name) - 1
        axes.plot(
            [int(row[over]) for row in mine],
            [row["achieved_gb_per_s"] for row in mine],
            color="black" if name == "copy" else LINE_COLORS[place],
            linestyle="--" if name == "copy" else "-",
            marker="x" if name == "copy" else MARKERS[place],
            label=NAMES[name],
        )
    axes.set_xscale("log", base=2)
    axes.xaxis.set_minor_locator(NullLocator())
    ticks = sorted({int(row[over]) for row in shown})
    axes.set_xticks(ticks, [power(tick) for tick in ticks])
    all_of = f" (of {power(shown[0]['elements'])} elements)" if over == "columns" and shown else ""
    axes.set_xlabel(over + all_of)
    axes.set_ylim(bottom=0)
