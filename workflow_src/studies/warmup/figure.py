"""The figure of the warm-up study."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.paper.drawing import LINE_COLORS, label_left, legend_of, log_values, nothing
from workflow_src.studies.lines import Line, by_host, grouped, lines

ACROSS = 4
"""Panels side by side: two sizes with both phases."""

DRAWN = ("warmup_steps", "mean_ms", "first_step_ms", "median_ms")


def draw(table: pd.DataFrame) -> Figure:
    """A panel per size and phase: mean with std, median and first step over warm-up steps."""
    every = [line for line in lines(table, "warmup") if line.ok and line.has(*DRAWN)]
    panels = grouped(sorted(every, key=lambda line: line.amount("warmup_steps")), "size", "phase")
    if not panels:
        return nothing("no step was measured")
    columns = min(len(panels), ACROSS)
    down = math.ceil(len(panels) / columns)
    size = (2.9 * columns + 2.2, 3.2 * down)
    drawn, grid = plt.subplots(down, columns, figsize=size, squeeze=False, layout="constrained")
    for axes, mine in zip(grid.flat, panels, strict=False):
        draw_panel(axes, mine)
        axes.set_title(f"{mine[0].text('size')}, {mine[0].phase}", fontsize=10)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    label_left(drawn, "ms a step")
    legend_of(drawn)
    return drawn


def draw_panel(axes: Axes, runs: Sequence[Line]) -> None:
    """First step, mean with std, and median of each run."""
    places = range(len(runs))
    mean, std, first, median = (
        [run.amount(key) for run in runs]
        for key in ("mean_ms", "std_ms", "first_step_ms", "median_ms")
    )
    axes.plot(places, first, "^", color=LINE_COLORS[1], label="first step of the process")
    axes.errorbar(
        places, mean, ([0.0] * len(std), std), fmt="s", color=LINE_COLORS[0], capsize=3,
        label="mean of measured steps (bar: + std)",
    )  # fmt: skip
    axes.plot(places, median, "_", color=LINE_COLORS[6], ms=14, label="median of measured steps")
    most = by_host(runs)[0]
    ticks = [run.text("warmup_steps").removesuffix(".0") + "*" * (run not in most) for run in runs]
    axes.set_xticks(places, ticks)
    axes.set_xlim(-0.5, len(runs) - 0.5)
    axes.set_xlabel("warm-up steps" + " (*: on another host)" * (len(most) < len(runs)))
    log_values(axes)
