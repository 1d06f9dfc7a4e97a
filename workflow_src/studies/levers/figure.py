"""The figure of the levers study: from the plain training step to the best, remedy by remedy."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.render.drawing import LINE_COLORS, label_left, legend_of, nothing
from workflow_src.studies.levers.analyze import by_case, measured_stack
from workflow_src.studies.study import Row

COLUMNS = 3

BESIDE = 0.3
"""How far right of a bar's middle its prediction stands, so that neither hides the other."""


def figure(table: pd.DataFrame) -> Figure:
    """A panel per case: bars of each stack's training step, its device time, its prediction."""
    found = {case: measured_stack(rows) for case, rows in by_case(table).items()}
    found = {case: rows for case, rows in found.items() if rows}
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


def _panel(axes: Axes, rows: Sequence[Row]) -> None:
    places = list(range(len(rows)))
    axes.bar(places, [row["median_ms"] for row in rows], color=LINE_COLORS[0], label="measured")
    busy = [(at, row["device_ms"]) for at, row in enumerate(rows) if row.get("device_ms")]
    axes.bar(
        [at for at, _ in busy], [ms for _, ms in busy], width=0.4, color=LINE_COLORS[4],
        label="of it, the device's work (profiled)",
    )  # fmt: skip
    expected = [(at, row) for at, row in enumerate(rows) if row.get("predicted_ms") is not None]
    if expected:
        middle = [row["predicted_ms"] for _, row in expected]
        low = [max(0.0, row["predicted_ms"] - row["predicted_low"]) for _, row in expected]
        more = [max(0.0, row["predicted_high"] - row["predicted_ms"]) for _, row in expected]
        axes.errorbar(
            [at + BESIDE for at, _ in expected], middle, (low, more), color="black", marker="o",
            markersize=4, elinewidth=1, capsize=2, linestyle="",
            label="predicted from the plain step, 95 %",
        )  # fmt: skip
        work = [row["predicted_device_ms"] for _, row in expected]
        axes.plot(
            [at for at, _ in expected], work, color=LINE_COLORS[1], marker="_", linestyle="",
            markersize=22, markeredgewidth=2, label="the device's work, predicted",
        )  # fmt: skip
    names = [rows[0]["words"], *(f"+ {' + '.join(row['added'])}" for row in rows[1:])]
    axes.set_xticks(places, names, rotation=40, ha="right", fontsize=7)
    axes.set_ylim(bottom=0)
