"""The figure of the attention study."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
from workflow_src.studies.attention.chapter import shown_passes
from workflow_src.studies.attention.passes import Both
from workflow_src.studies.lines import lines, where


def draw(table: pd.DataFrame) -> Figure:
    """Time and memory of forward and backward over context, at the shown head size.

    A line per implementation.
    """
    every = lines(table, "attention")
    measured = shown_passes(where(every, sweep="core"))
    if not measured:
        return nothing("no attention was measured in both phases")
    drawn, (time, memory) = row_of(2, (10, 3.8))
    names = dict.fromkeys(each.name for each in measured)
    for name, color, marker in zip(names, LINE_COLORS, MARKERS, strict=False):
        mine = [each for each in measured if each.name == name]
        mine = sorted(mine, key=lambda each: each.context)
        draw_times(time, mine, color, marker)
        draw_memory(memory, mine, color, marker)
    for axes in (time, memory):
        log_values(axes)
        context_axis(axes, [each.context for each in measured])
        axes.tick_params(axis="x", labelrotation=45)
    label(time, memory, measured)
    legend_of(drawn)
    return drawn


def label(time: Axes, memory: Axes, measured: Sequence[Both]) -> None:
    """Set titles and units; if no peak was measured, the memory is what autograd keeps."""
    head = f"head size {measured[0].forward.whole('head_size')}"
    time.set_title(f"forward + backward ({head})", fontsize=10)
    time.set_ylabel("ms (bars: 20th to 80th percentile)")
    peaks = any(each.backward.has("peak_mib") for each in measured)
    memory.set_title(f"{'peak memory' if peaks else 'kept for backward'} ({head})", fontsize=10)
    memory.set_ylabel("MiB")


def draw_memory(axes: Axes, mine: Sequence[Both], color: str, marker: str) -> None:
    """One implementation's memory, at the contexts where it was measured."""
    known = [(each.context, each.memory.number) for each in mine if each.memory]
    contexts, amounts = zip(*known, strict=True) if known else ((), ())
    axes.plot(contexts, amounts, color=color, marker=marker)


def draw_times(axes: Axes, mine: Sequence[Both], color: str, marker: str) -> None:
    """One implementation's times with their spread."""
    middle = [each.total.number for each in mine]
    ends = bars(middle, [(each.fast, each.slow) for each in mine])
    contexts, label = [each.context for each in mine], mine[0].name
    axes.errorbar(contexts, middle, ends, color=color, marker=marker, capsize=3, label=label)
