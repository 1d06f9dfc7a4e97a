"""The figure of the warm-up study."""

import math
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.render.drawing import LINE_COLORS, label_left, legend_of, log_values, nothing
from workflow_src.render.markdown import PHASE_WORDS
from workflow_src.studies.warmup.analyze import measured, runs_of

Rows = Sequence[dict[str, Any]]

ACROSS = 4
"""Panels side by side: two sizes with both phases."""


def figure(table: pd.DataFrame) -> Figure:
    """A panel per size and phase: mean with std, median and first step over warm-up steps."""
    panels: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in sorted(measured(runs_of(table)), key=lambda row: int(row["warmup_steps"])):
        panels.setdefault((row["size"], row["phase"]), []).append(row)
    if not panels:
        return nothing("no step was measured")
    columns = min(len(panels), ACROSS)
    down = math.ceil(len(panels) / columns)
    size = (2.9 * columns + 2.2, 3.2 * down)
    drawn, grid = plt.subplots(down, columns, figsize=size, squeeze=False, layout="constrained")
    for axes, ((name, phase), mine) in zip(grid.flat, panels.items(), strict=False):
        draw_panel(axes, mine)
        axes.set_title(f"{name}, {PHASE_WORDS[phase]}", fontsize=10)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    label_left(drawn, "ms a step")
    legend_of(drawn)
    return drawn


def draw_panel(axes: Axes, rows: Rows) -> None:
    """First step, mean with std, and median of each run, in the order of `rows`."""
    places = range(len(rows))
    mean, std = [row["mean_ms"] for row in rows], [row["std_ms"] or 0.0 for row in rows]
    first, median = ([row[key] for row in rows] for key in ("first_step_ms", "median_ms"))
    axes.plot(places, first, "^", color=LINE_COLORS[1], label="first step of the process")
    axes.errorbar(
        places, mean, ([0.0] * len(std), std), fmt="s", color=LINE_COLORS[0], capsize=3,
        label="mean of measured steps (bar: + std)",
    )  # fmt: skip
    axes.plot(places, median, "_", color=LINE_COLORS[6], ms=14, label="median of measured steps")
    axes.set_xticks(places, [str(int(row["warmup_steps"])) for row in rows])
    axes.set_xlim(-0.5, len(rows) - 0.5)
    axes.set_xlabel("warm-up steps")
    log_values(axes)
