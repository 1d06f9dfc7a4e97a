"""The figure of the memory study: active memory over time, by what it is held for."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.render.drawing import LINE_COLORS, label_left, legend_of, nothing
from workflow_src.studies.lines import MIB_PER_GIB, Line, grouped, lines
from workflow_src.studies.memory.result import KINDS, PARTS, RECORD

MOST = 6
"""Panels of a figure."""

DRAWN = ("start_ms", "end_ms", "active_mib")


def draw(table: pd.DataFrame) -> Figure:
    """A panel per record: memory by kind over time, and the parts of a step."""
    every = [line for line in lines(table, "memory") if line.ok and line.has(*DRAWN)]
    records = grouped([line for line in every if line.text("measurement") == "segment"], *RECORD)
    # The longest time shows the most: training steps come before forward passes.
    records.sort(key=lambda mine: (mine[0].text("phase") == "forward", -mine[0].amount("context")))
    records = records[:MOST]
    if not records:
        return nothing("no allocations were recorded")
    wide = min(2, len(records))
    high = -(-len(records) // wide)
    drawn, grid = plt.subplots(
        high, wide, figsize=(4.6 * wide + 1.6, 2.7 * high), squeeze=False, layout="constrained"
    )
    for unused in grid.flat[len(records) :]:
        unused.remove()
    for mine, axes in zip(records, grid.flat, strict=False):
        _panel(axes, mine)
    label_left(drawn, "active memory, GiB")
    legend_of(drawn)
    return drawn


def _panel(axes: Axes, mine: Sequence[Line]) -> None:
    """Each stretch is as high as its peak."""
    first = mine[0]
    edges = [each for line in mine for each in (line.amount("start_ms"), line.amount("end_ms"))]
    heights = [
        [line.amount(f"{kind}_mib") / MIB_PER_GIB for line in mine for _ in range(2)]
        for kind in KINDS
    ]
    axes.stackplot(edges, heights, labels=list(KINDS.values()), colors=LINE_COLORS, linewidth=0)
    _parts(axes, mine)
    phase = "forward pass" if first.text("phase") == "forward" else "two training steps"
    about = f"{first.text('size')}, context {first.whole('context')}, {first.text('precision')}"
    axes.set_title(f"{about}: {phase}", fontsize=10)
    axes.set_xlabel("ms of the host, recorded")
    axes.set_xlim(edges[0], edges[-1])


def _parts(axes: Axes, mine: Sequence[Line]) -> None:
    """A line where a part of a step begins, with its name."""
    top = axes.get_ylim()[1]
    axes.set_ylim(0, 1.15 * top)
    for stretch in grouped(mine, "step", "part"):
        part = stretch[0].text("part")
        if part in PARTS:
            start = stretch[0].amount("start_ms")
            axes.axvline(start, color="black", linewidth=0.6, linestyle=":")
            axes.annotate(PARTS[part], (start, 1.13 * top), fontsize=7, rotation=90, va="top")
