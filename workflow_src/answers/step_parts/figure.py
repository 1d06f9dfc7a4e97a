"""The figure of the opening: a training step of each case as one bar of its plain time."""

from collections.abc import Sequence
from dataclasses import asdict

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.answers.step_parts.parts import (
    CASTS,
    ELSE,
    IDLE,
    MULTIPLYING,
    OPTIMIZER,
    SOFTMAX,
    StepParts,
    step_parts,
)
from workflow_src.answers.tables import Tables
from workflow_src.common import words
from workflow_src.paper.drawing import facets, nothing
from workflow_src.paper.show import Printer

# After Paul Tol's "muted" scheme, distinguishable with any color vision; idle time is pale.
COLORS = {
    MULTIPLYING: "#332288",
    SOFTMAX: "#CC6677",
    CASTS: "#44AA99",
    ELSE: "#DDCC77",
    OPTIMIZER: "#882255",
    IDLE: "#DDDDDD",
}

WIDTH = 4.0
"""Inches: as wide as a telephone, on which its texts are then as large as the page's."""

ROW, HEAD = 0.155, 0.32
"""Inches that a bar, and the title of a panel, take."""


def draw(tables: Tables) -> Figure:
    """A bar per case, a panel per precision; each bar is its own whole."""
    steps = [step_parts(tables, case) for case in tables.cases]
    if not any(each.parts for each in steps):
        return nothing("no training step was measured and captured")
    rows = facets([asdict(each.case) | {"step": each} for each in steps])
    panels = {heading: [row["step"] for row in mine] for heading, mine in rows.items()}
    counts = [len(mine) for mine in panels.values()]
    height = ROW * sum(counts) + HEAD * len(counts) + 0.97
    figure, grid = plt.subplots(
        len(counts), 1, figsize=(WIDTH, height), height_ratios=counts, squeeze=False, sharex=True,
        layout="constrained",
    )  # fmt: skip
    for axes, (heading, mine) in zip(grid.flat, panels.items(), strict=True):
        _panel(axes, mine)
        axes.set_title(heading, fontsize=9, loc="left")
    axes.set_xlabel(
        "share of plain time, %\nidle: plain time less captured device time", fontsize=8
    )
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    return figure


def _panel(axes: Axes, steps: Sequence[StepParts]) -> None:
    """The bars of one precision, each with its case at the left and its time at the right."""
    left = [0.0] * len(steps)
    for part, color in COLORS.items():
        widths = [100 * each.parts.get(part, 0.0) / _whole(each) for each in steps]
        axes.barh(range(len(steps)), widths, left=left, height=0.85, color=color, label=part)
        left = [so_far + width for so_far, width in zip(left, widths, strict=True)]
    for place, each in enumerate(steps):
        if each.parts:
            axes.text(102, place, f"{Printer()(each.told)} ms", va="center", fontsize=7.5)
        else:
            axes.text(1, place, words.STATES[each.state], va="center", fontsize=7.5)
    axes.set_yticks(range(len(steps)), [_named(each) for each in steps], fontsize=7.5)
    axes.set_xlim(0, 122)
    axes.set_ylim(len(steps) - 0.5, -0.5)
    axes.set_xticks([0, 25, 50, 75, 100])
    axes.tick_params(axis="x", labelsize=7.5)
    axes.grid(False)


def _whole(step: StepParts) -> float:
    """What a bar is 100 % of: the plain time, or the parts where these are longer."""
    return max(step.plain_ms, sum(step.parts.values())) or 1.0


def _named(step: StepParts) -> str:
    case = step.case
    return f"{case.size}, {case.context}" if case.context else case.size
