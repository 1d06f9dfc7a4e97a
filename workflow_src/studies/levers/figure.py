"""The figure of the levers study: from the plain training step to the best, remedy by remedy."""

import math
from collections.abc import Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.paper.drawing import LINE_COLORS, bars, label_left, legend_of, nothing
from workflow_src.studies.levers.steps import Step, added, cases
from workflow_src.studies.lines import lines

COLUMNS = 3

BESIDE = 0.3
"""How far right of a bar's middle its prediction stands, so that neither hides the other."""


def draw(table: pd.DataFrame) -> Figure:
    """A panel per case: bars of each stack's training step, its device time, its prediction."""
    every = cases(lines(table, "levers"))
    found = {case.name: stacked for case in every if (stacked := case.stacked)}
    if not found:
        return nothing("no training step was measured")
    wide = min(COLUMNS, len(found))
    high = math.ceil(len(found) / wide)
    size = (max(5.0, 3.6 * wide + 1.6), 3.4 * high)
    drawn, grid = plt.subplots(high, wide, figsize=size, squeeze=False, layout="constrained")
    panels = list(grid.flat)
    for unused in panels[len(found) :]:
        unused.remove()
    for (case, rows), axes in zip(found.items(), panels, strict=False):
        _panel(axes, rows)
        axes.set_title(case, fontsize=10)
    label_left(drawn, "training step, ms per plain batch")
    legend_of(drawn)
    return drawn


def _panel(axes: Axes, rows: Sequence[Step]) -> None:
    places = list(range(len(rows)))
    measured = [each.line.amount("median_ms") for each in rows]
    axes.bar(places, measured, color=LINE_COLORS[0], label="measured")
    busy = [(at, each.device_ms.number) for at, each in enumerate(rows) if each.device_ms]
    axes.bar(
        [at for at, _ in busy], [ms for _, ms in busy], width=0.4, color=LINE_COLORS[4],
        label="of it, the device's work (profiled)",
    )  # fmt: skip
    _predicted(axes, rows)
    names = [rows[0].words, *(f"+ {added(*pair)}" for pair in pairwise(rows))]
    axes.set_xticks(places, names, rotation=40, ha="right", fontsize=7)
    axes.set_ylim(bottom=0)


def _predicted(axes: Axes, rows: Sequence[Step]) -> None:
    """What was predicted: beside each bar its interval, and across it the device's work."""
    columns = ("predicted_ms", "predicted_low", "predicted_high", "predicted_device_ms")
    expected = [(at, each.line) for at, each in enumerate(rows) if each.line.has(*columns)]
    if not expected:
        return
    middle, low, high, work = ([line.amount(c) for _, line in expected] for c in columns)
    ends = list(zip(low, high, strict=True))
    axes.errorbar(
        [at + BESIDE for at, _ in expected], middle, bars(middle, ends), color="black", marker="o",
        markersize=4, elinewidth=1, capsize=2, linestyle="",
        label="predicted from the plain step, 95 %",
    )  # fmt: skip
    axes.plot(
        [at for at, _ in expected], work, color=LINE_COLORS[1], marker="_", linestyle="",
        markersize=22, markeredgewidth=2, label="the device's work, predicted",
    )  # fmt: skip
