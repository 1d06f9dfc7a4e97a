"""The figure of (d): each kernel family's share of device time, by case and phase."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.answers.gemm_share.change import OPTIMIZER
from workflow_src.answers.kernels import captured, grouped
from workflow_src.answers.share_bars import Bar, by_facet, shown, stack, together
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common import words
from workflow_src.common.case import PHASES
from workflow_src.paper.drawing import legend_of, nothing

# After Paul Tol's "muted" scheme, distinguishable with any color vision.
FAMILY_COLORS = {
    "gemm": "#332288",
    "attention": "#88CCEE",
    "softmax": "#CC6677",
    "elementwise": "#DDCC77",
    "normalization": "#44AA99",
    "reduction": "#117733",
    "copy": "#999933",
    OPTIMIZER: "#882255",
    "loss": "#AA4499",
    "convolution": "#6699CC",
    "recurrent": "#661100",
    "pooling": "#BBCC33",
    "compiled": "#777777",
    "unknown": "#000000",
}
OTHERS = "other families"


def draw(tables: Tables) -> Figure:
    """Each family's share of device time: a bar per case, a column of panels per phase.

    What the optimizer launches is one part, whatever its families: written out it is elementwise
    work, which would hide it.
    """
    bars = [_bar(tables, case, phase) for case in tables.cases for phase in PHASES]
    if not any(bar.shares for bar in bars):
        return nothing("no device activity was measured")
    bars = together(bars, list(FAMILY_COLORS), OTHERS)
    rows, colors = by_facet(bars), shown(bars, FAMILY_COLORS)
    figure, grid = _grid([len(mine) // len(PHASES) for mine in rows.values()])
    for line, (heading, mine) in zip(grid, rows.items(), strict=True):
        for axes, phase in zip(line, PHASES, strict=True):
            here = [bar for bar in mine if bar.phase == phase]
            stack(axes, here, colors, labeled=phase == PHASES[0])
            axes.set_title(f"{words.PHASES[phase]} ({heading})", fontsize=10)
    for axes in grid[-1]:
        axes.set_xlabel("share of device time, %")
    legend_of(figure)
    return figure


def _bar(tables: Tables, case: CaseKey, phase: str) -> Bar:
    state, rows = captured(tables, case.case, phase)
    launched = [OPTIMIZER in str(path).split("/") for path in rows["path"]]
    parts = rows.assign(part=rows["family"].mask(pd.Series(launched, rows.index), OPTIMIZER))
    whole = rows["busy_ns"].sum()
    shares = {
        name: float(mine["busy_ns"].sum() / whole)
        for name, mine in grouped(parts, "part").items()
        if whole > 0
    }
    return Bar(case, phase, state, shares)


def _grid(counts: list[int]) -> tuple[Figure, list[list[Axes]]]:
    """A panel per facet and phase, as high as the facet has bars."""
    figure, grid = plt.subplots(
        len(counts),
        len(PHASES),
        figsize=(11, sum(counts) * 0.2 + 1.0 * len(counts) + 0.6),
        height_ratios=[count + 1 for count in counts],
        squeeze=False,
        sharex=True,
        layout="constrained",
    )
    return figure, [list(line) for line in grid]
