"""The figure of the precision study."""

import pandas as pd
from matplotlib.figure import Figure

from workflow_src.paper.drawing import LINE_COLORS, legend_of, nothing, row_of
from workflow_src.studies.lines import lines, where
from workflow_src.studies.precision.pairs import MEASUREMENTS, pairs


def draw(table: pd.DataFrame) -> Figure:
    """A panel per measurement: bf16's speed-up over each full precision, a bar per size.

    Hatched if undecided.
    """
    found = pairs(where(lines(table, "precision"), part="speed"))
    if not found:
        return nothing("no size was measured in two precisions")
    measured = [name for name in MEASUREMENTS if name in {pair.measurement for pair in found}]
    sizes = list(dict.fromkeys(pair.size for pair in found))
    against = list(dict.fromkeys(pair.against for pair in found))
    width = 0.8 / len(against)
    drawn, grid = row_of(len(measured), (3.2 * len(measured) + 1.6, 3.2), sharey=True)
    for axes, measurement in zip(grid, measured, strict=True):
        for number, precision in enumerate(against):
            mine = {
                pair.size: pair
                for pair in found
                if (pair.measurement, pair.against) == (measurement, precision)
            }
            heights = [pair.speedup.number for pair in mine.values()]
            hatches = ["///" if pair.waits else "" for pair in mine.values()]
            places = [sizes.index(size) + (number + 0.5) * width - 0.4 for size in mine]
            label, color = f"over {precision}", LINE_COLORS[number]
            axes.bar(places, heights, width * 0.9, color=color, label=label, hatch=hatches)
        axes.axhline(1, color="black", linestyle="--", label="no change")
        axes.set_xticks(range(len(sizes)), sizes)
        axes.set_xlim(-0.6, len(sizes) - 0.4)
        axes.set_title(MEASUREMENTS[measurement], fontsize=10)
    grid[0].set_ylabel("speed-up of bf16 autocast")
    legend_of(drawn)
    return drawn
