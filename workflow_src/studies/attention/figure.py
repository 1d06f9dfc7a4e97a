"""The figure of the attention study."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.render.drawing import (
    LINE_COLOURS,
    MARKERS,
    context_axis,
    legend_of,
    log_values,
    nothing,
)
from workflow_src.studies.study import Row


def figure(rows: Sequence[Row]) -> Figure:
    """Time of forward and backward, and memory, over context: a line per implementation."""
    if not rows:
        return nothing("no attention was measured in both phases")
    drawn, (time, memory) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    names = dict.fromkeys(row["words"] for row in rows)
    for name, colour, marker in zip(names, LINE_COLOURS, MARKERS, strict=False):
        mine = sorted(
            (row for row in rows if row["words"] == name), key=lambda r: int(r["context"])
        )
        draw_times(time, mine, colour, marker)
        told = [row for row in mine if row["memory_mib"]]
        contexts = [row["context"] for row in told]
        memory.plot(contexts, [r["memory_mib"] for r in told], color=colour, marker=marker)
    for axes in (time, memory):
        log_values(axes)
        context_axis(axes, [row["context"] for row in rows])
        axes.tick_params(axis="x", labelrotation=45)
    head = f"head size {rows[0]['head_size']}"
    time.set_title(f"forward + backward ({head})", fontsize=10)
    time.set_ylabel("ms (bars: 20th to 80th percentile)")
    peaks = any(row["peak_mib"] for row in rows)
    memory.set_title(f"{'peak memory' if peaks else 'kept for backward'} ({head})", fontsize=10)
    memory.set_ylabel("MiB")
    legend_of(drawn)
    return drawn


def draw_times(axes: Axes, rows: Sequence[Row], colour: str, marker: str) -> None:
    """One implementation's times with their spread."""
    middle = [row["total_ms"] for row in rows]
    low = [max(0.0, row["total_ms"] - row["p20_ms"]) for row in rows]
    high = [max(0.0, row["p80_ms"] - row["total_ms"]) for row in rows]
    axes.errorbar(
        [row["context"] for row in rows],
        middle,
        (low, high),
        color=colour,
        marker=marker,
        capsize=3,
        label=rows[0]["words"],
    )
