"""The figure of the MLP study."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.render.drawing import (
    LINE_COLORS,
    MARKERS,
    context_axis,
    legend_of,
    log_values,
    nothing,
)
from workflow_src.studies.mlp.analyze import measured, part, ratios
from workflow_src.studies.mlp.points import BASE

Rows = Sequence[Mapping[str, Any]]


def figure(table: pd.DataFrame) -> Figure:
    """Two panels: measured over expected ratio for each scaled size, and busy share over dim."""
    scaling = [row for row in ratios(table) if "measured" in row and row["axis"] != "base"]
    swept = sorted(measured(part(table, "sweep")), key=lambda row: row["dim"])
    if not scaling and not swept:
        return nothing("no MLP was measured")
    drawn, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    draw_ratios(left, scaling)
    draw_busy(right, swept)
    legend_of(drawn)
    return drawn


def draw_ratios(axes: Axes, rows: Rows) -> None:
    """Points (median, p20 to p80) and the line on which formula and measurement agree."""
    for axis, color, marker in zip(BASE, LINE_COLORS, MARKERS, strict=False):
        mine = [row for row in rows if row["axis"] == axis]
        middle = [row["measured"] for row in mine]
        low = [max(0.0, row["measured"] - row["low"]) for row in mine]
        high = [max(0.0, row["high"] - row["measured"]) for row in mine]
        axes.errorbar(
            [row["expected"] for row in mine], middle, (low, high), color=color, marker=marker,
            capsize=3, label=f"{axis} scaled (bar: p20 to p80)",
        )  # fmt: skip
    if rows:
        ends = [1.0, max(row["expected"] for row in rows)]
        axes.plot(ends, ends, color="black", linestyle=":", label="by formula")
        log_values(axes)
        axes.set_xscale("log")
        ticks = sorted({row["expected"] for row in rows})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    axes.set_xlabel("expected ratio to the base")
    axes.set_ylabel("measured ratio")


def draw_busy(axes: Axes, rows: Rows) -> None:
    """The share of a step's time in which the device is busy, or operators run, over dim."""
    dims = [int(row["dim"]) for row in rows]
    on_cpu = "cpu" in {row["device"] for row in rows}
    label = "operators' time / step" if on_cpu else "device busy / step"
    shares = [100 * row["busy_share"] for row in rows]
    axes.plot(dims, shares, color=LINE_COLORS[5], marker="o", label=label)
    if not on_cpu:
        limit = 100 * LAUNCH_BOUND_BELOW
        axes.axhline(limit, color="black", linestyle="--", label="launch-bound below")
    if dims:
        context_axis(axes, dims)
    axes.set_xlabel("dim")
    axes.set_ylabel("share of the unprofiled step, %")
    axes.set_ylim(bottom=0)
