"""The figure of the attention study."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.render.drawing import (
    LINE_COLORS,
    MARKERS,
    context_axis,
    legend_of,
    log_values,
    nothing,
)
from workflow_src.studies.attention.analyze import of_head_size, shown_head_size, sweep, totals
from workflow_src.studies.study import Row


def figure(table: pd.DataFrame) -> Figure:
    """Time and memory of forward and backward over context, at the shown head size.

    A line per implementation.
    """
    whole = totals(sweep(table, "core"))
    rows = of_head_size(whole, shown_head_size(whole))
    if not rows:
        return nothing("no attention was measured in both phases")
    drawn, (time, memory) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    names = dict.fromkeys(row["words"] for row in rows)
    for name, color, marker in zip(names, LINE_COLORS, MARKERS, strict=False):
        mine = [row for row in rows if row["words"] == name]
        mine = sorted(mine, key=lambda row: int(row["context"]))
        draw_times(time, mine, color, marker)
        draw_memory(memory, mine, color, marker)
    for axes in (time, memory):
        log_values(axes)
        context_axis(axes, [row["context"] for row in rows])
        axes.tick_params(axis="x", labelrotation=45)
    label(time, memory, rows)
    legend_of(drawn)
    return drawn


def label(time: Axes, memory: Axes, rows: Sequence[Row]) -> None:
    """Set titles and units; if no peak was measured, the memory is what autograd keeps."""
    head = f"head size {rows[0]['head_size']}"
    time.set_title(f"forward + backward ({head})", fontsize=10)
    time.set_ylabel("ms (bars: 20th to 80th percentile)")
    peaks = any(row["peak_mib"] for row in rows)
    memory.set_title(f"{'peak memory' if peaks else 'kept for backward'} ({head})", fontsize=10)
    memory.set_ylabel("MiB")


def draw_memory(axes: Axes, rows: Sequence[Row], color: str, marker: str) -> None:
    """One implementation's memory, at the contexts where it was measured."""
    measured = [row for row in rows if row["memory_mib"]]
    contexts = [row["context"] for row in measured]
    axes.plot(contexts, [row["memory_mib"] for row in measured], color=color, marker=marker)


def draw_times(axes: Axes, rows: Sequence[Row], color: str, marker: str) -> None:
    """One implementation's times with their spread."""
    middle = [row["total_ms"] for row in rows]
    low = [max(0.0, row["total_ms"] - row["p20_ms"]) for row in rows]
    high = [max(0.0, row["p80_ms"] - row["total_ms"]) for row in rows]
    axes.errorbar(
        [row["context"] for row in rows],
        middle,
        (low, high),
        color=color,
        marker=marker,
        capsize=3,
        label=rows[0]["words"],
    )
