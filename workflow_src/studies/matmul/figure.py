"""The figure of the matrix multiplication study."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.render.drawing import LINE_COLORS, MARKERS, context_axis, log_values, nothing
from workflow_src.studies.matmul.analyze import DIVISORS, sweep
from workflow_src.studies.matmul.tiles import TILE
from workflow_src.studies.matmul.verdicts import edge_verdict
from workflow_src.studies.study import Row


def figure(table: pd.DataFrame) -> Figure:
    """A panel for each measured sweep: over size, across the edge, and by divisor."""
    drawers = {"sizes": draw_sizes, "edge": draw_edge, "divisibility": draw_divisors}
    panels = [(draw, rows) for name, draw in drawers.items() if (rows := sweep(table, name))]
    if not panels:
        return nothing("no product was measured")
    drawn, grid = plt.subplots(
        1, len(panels), figsize=(4.2 * len(panels), 3.6), squeeze=False, layout="constrained"
    )
    for axes, (draw, rows) in zip(grid.flat, panels, strict=True):
        draw(axes, rows)
        axes.legend()
    grid[0, 0].set_ylabel("TFLOP/s (of the median time)")
    return drawn


def draw_sizes(axes: Axes, rows: Sequence[Row]) -> None:
    """Rate over size, a line per precision."""
    precisions = list(dict.fromkeys(row["precision"] for row in rows))
    for precision, color, marker in zip(precisions, LINE_COLORS, MARKERS, strict=False):
        mine = [row for row in rows if row["precision"] == precision]
        n, rate = [int(row["n"]) for row in mine], [row["tflops"] for row in mine]
        axes.plot(n, rate, color=color, marker=marker, label=precision)
    log_values(axes)
    context_axis(axes, [int(row["n"]) for row in rows])
    axes.tick_params(axis="x", labelrotation=45)
    axes.set_xlabel("n")
    axes.set_title("by size", fontsize=10)


def draw_edge(axes: Axes, rows: Sequence[Row]) -> None:
    """Rate across the assumed edge; lines mark it and where the tiles that ran take more waves."""
    n, rate = [int(row["n"]) for row in rows], [row["tflops"] for row in rows]
    edge, tile = int(rows[0]["edge"]), "x".join(map(str, TILE))
    axes.plot(n, rate, color=LINE_COLORS[0], marker="o", label=rows[0]["precision"])
    axes.axvline(edge, color="black", linestyle="--", label=f"edge of {tile}, n = {edge}")
    if rise := (edge_verdict(rows) or {}).get("rise"):
        above = rise["above"]
        label = f"{above['waves']} waves from n = {int(above['n'])}"
        axes.axvline(above["n"], color="black", linestyle=":", label=label)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("n")
    axes.set_title("across a tile edge", fontsize=10)


def draw_divisors(axes: Axes, rows: Sequence[Row]) -> None:
    """Rate over size, colored by the largest divisor."""
    for divisor, color, marker in zip(DIVISORS, LINE_COLORS, MARKERS, strict=False):
        mine = [row for row in rows if row["divisor"] == divisor]
        n, rate = [int(row["n"]) for row in mine], [row["tflops"] for row in mine]
        axes.plot(n, rate, color=color, marker=marker, linestyle="", label=f"by {divisor}")
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"n ({rows[0]['precision']})")
    axes.set_title("by what divides n", fontsize=10)
