"""The figure of the checkpointing study: peak over blocks per checkpoint, and over depth."""

from collections.abc import Callable, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from workflow_src.common.components import PER_BLOCK
from workflow_src.common.units import MIB_PER_GIB
from workflow_src.paper.drawing import (
    LINE_COLORS,
    MARKERS,
    label_left,
    legend_of,
    log_values,
    nothing,
    row_of,
)
from workflow_src.studies.checkpointing.chapter import WAYS
from workflow_src.studies.lines import Line, grouped, lines, where


def draw(table: pd.DataFrame) -> Figure:
    """A panel per model over blocks per checkpoint, and one over depth; lines are predictions."""
    every = [line for line in lines(table, "checkpointing") if line.has("predicted_peak_mib")]
    flat = [line for line in where(every, measurement="flat") if line.amount("sublayers")]
    nesting, panels = where(every, measurement="nesting"), grouped(flat, "size")
    if not panels and not nesting:
        return nothing("nothing was measured with checkpoints")
    count = len(panels) + bool(nesting)
    drawn, grid = row_of(count, (3.6 * count + 1.6, 3.2))
    for mine, axes in zip(panels, grid, strict=False):
        _line(axes, mine, "each checkpoint", 0, lambda line: line.amount("sublayers") / PER_BLOCK)
        _over(axes, "blocks per checkpoint", mine[0].text("size"))
    if nesting:
        _depths(grid[-1], nesting)
    label_left(drawn, "peak memory, GiB")
    legend_of(drawn)
    return drawn


def _depths(axes: Axes, nesting: Sequence[Line]) -> None:
    for place, ((nested, sublayers), name) in enumerate(WAYS.items()):
        alike = [line for line in nesting if line.true("nested") == nested]
        mine = [line for line in alike if line.amount("sublayers") == sublayers]
        if mine:
            label = {"none": "no checkpoint", "each block": "each checkpoint"}.get(name, name)
            color = {"none": 1, "each block": 0}.get(name, place)
            _line(axes, mine, label, color, lambda line: line.amount("layers"))
    log_values(axes)
    _over(axes, "blocks of the model", "by depth")


def _line(
    axes: Axes, mine: Sequence[Line], label: str, color: int, over: Callable[[Line], float]
) -> None:
    """Predictions as a line, measurements as points."""
    mine = sorted(mine, key=over)
    shade = LINE_COLORS[color]
    predicted = [line.amount("predicted_peak_mib") / MIB_PER_GIB for line in mine]
    axes.plot([over(line) for line in mine], predicted, color=shade, label=f"{label}, predicted")
    ran = [line for line in mine if line.ok and line.has("peak_mib")]
    measured = [line.amount("peak_mib") / MIB_PER_GIB for line in ran]
    axes.plot(
        [over(line) for line in ran], measured, color=shade, marker=MARKERS[color], linestyle="",
        label=f"{label}, measured",
    )  # fmt: skip


def _over(axes: Axes, label: str, title: str) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.set_xlabel(label)
    axes.set_title(title, fontsize=10)
