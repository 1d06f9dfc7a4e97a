"""The figure of the study flash."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.common import words
from workflow_src.paper.drawing import (
    LINE_COLORS,
    MARKERS,
    context_axis,
    label_left,
    legend_of,
    log_values,
    nothing,
    row_of,
)
from workflow_src.studies.flash.ceilings import tflop_per_s
from workflow_src.studies.flash.chapter import shown_lines
from workflow_src.studies.flash.named import name
from workflow_src.studies.lines import Line, lines, where

DRAWN = ("forward", "forward_backward")
NEEDED = ("median_ms", "flops", "context")


def draw(table: pd.DataFrame) -> Figure:
    """TFLOP/s of forward, and of both passes, over context: a line per implementation."""
    timed = shown_lines(where(lines(table, "flash"), sweep="time"))
    here = [line for line in timed if line.ok and line.has(*NEEDED)]
    if not here:
        return nothing("no attention was measured")
    figure, grid = row_of(2, (10, 3.8), sharey=True)
    styles = {each: number for number, each in enumerate(dict.fromkeys(map(name, here)))}
    for phase, axes in zip(DRAWN, grid, strict=True):
        of_phase = where(here, phase=phase)
        for each, number in styles.items():
            _line(axes, [line for line in of_phase if name(line) == each], each, number)
        shape = f"{here[0].text('precision')}, head size {here[0].whole('head_size')}"
        axes.set_title(f"{words.PHASES[phase]} ({shape})", fontsize=10)
        log_values(axes)
        context_axis(axes, [int(line.amount("context")) for line in here])
        axes.tick_params(axis="x", labelrotation=45)
    label_left(figure, "TFLOP/s of the causal half")
    legend_of(figure)
    return figure


def _line(axes: Axes, mine: Sequence[Line], label: str, number: int) -> None:
    """One implementation; those beyond the number of colors are dashed."""
    rates = [(line.amount("context"), rate.number) for line in mine if (rate := tflop_per_s(line))]
    contexts, heights = zip(*sorted(rates), strict=True) if rates else ((), ())
    place = number % len(LINE_COLORS)
    style = "-" if number < len(LINE_COLORS) else "--"
    color, marker = LINE_COLORS[place], MARKERS[place]
    axes.plot(contexts, heights, color=color, marker=marker, linestyle=style, label=label)
