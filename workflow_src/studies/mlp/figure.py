"""The figure of the MLP study."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.paper.drawing import (
    LINE_COLORS,
    MARKERS,
    bars,
    context_axis,
    legend_of,
    log_values,
    nothing,
    row_of,
)
from workflow_src.studies.lines import lines, number, where
from workflow_src.studies.mlp.chapter import Width, widths
from workflow_src.studies.mlp.points import BASE
from workflow_src.studies.mlp.scaled import Scaled, scaled


def draw(table: pd.DataFrame) -> Figure:
    """Two panels: time over FLOPs ratio for each scaled size, and device time / step over dim."""
    every = lines(table, "mlp")
    found = scaled(where(every, part="scaling"))
    rows = [each for each in found if each.time and each.flops and each.axis != "base"]
    swept = [width for width in widths(where(every, part="sweep")) if width.working]
    if not rows and not swept:
        return nothing("no MLP was measured")
    drawn, (left, right) = row_of(2, (10, 3.4))
    draw_ratios(left, rows)
    draw_working(right, swept)
    legend_of(drawn)
    return drawn


def draw_ratios(axes: Axes, rows: Sequence[Scaled]) -> None:
    """Points (median, p20 to p80) and the line on which time grows as FLOPs do."""
    for axis, color, marker in zip(BASE, LINE_COLORS, MARKERS, strict=False):
        mine = [each for each in rows if each.axis == axis]
        middle = [number(each.time) for each in mine]
        ends = [(number(each.low or each.time), number(each.high or each.time)) for each in mine]
        axes.errorbar(
            [number(each.flops) for each in mine], middle, bars(middle, ends), color=color,
            marker=marker, capsize=3, label=f"{axis} scaled (bar: p20 to p80)",
        )  # fmt: skip
    if rows:
        ticks = sorted({number(each.flops) for each in rows})
        axes.plot(
            [1.0, ticks[-1]], [1.0, ticks[-1]], color="black", linestyle=":", label="as the FLOPs"
        )
        log_values(axes)
        axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    axes.set_xlabel("FLOPs over the base's")
    axes.set_ylabel("time over the base's")


def draw_working(axes: Axes, rows: Sequence[Width]) -> None:
    """The share of a step's time in which the device works, or operators run, over dim."""
    dims = [width.dim for width in rows]
    on_cpu = any(width.on_cpu for width in rows)
    shares = [100 * number(width.working) for width in rows]
    axes.plot(dims, shares, color=LINE_COLORS[5], marker="o", label="device time / step")
    if not on_cpu:
        limit = 100 * WORKING_FULLY
        axes.axhline(limit, color="black", linestyle="--", label="launch-bound below")
    if dims:
        context_axis(axes, dims)
    axes.set_xlabel("dim")
    axes.set_ylabel("share of the unprofiled step, %")
    axes.set_ylim(bottom=0)
