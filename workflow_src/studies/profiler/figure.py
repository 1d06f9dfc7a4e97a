"""The figure of the profiler study: each pair's ratio, by case."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from workflow_src.paper.drawing import LINE_COLORS, nothing
from workflow_src.studies.profiler.chapter import result


def draw(table: pd.DataFrame) -> Figure:
    """A line of dots per case: times as long with the profiler, a dot per pair."""
    cases = result(table, pd.DataFrame()).cases
    if not cases:
        return nothing("no pair was measured")
    drawn, axes = plt.subplots(figsize=(7.0, 1.2 + 0.4 * len(cases)), layout="constrained")
    for height, case in enumerate(cases):
        ratios = [each.number for each in case.ratios]
        axes.plot(ratios, [height] * len(ratios), "o", color=LINE_COLORS[0], alpha=0.7)
    axes.axvline(1, color="black", linestyle="--", linewidth=1)
    axes.set_yticks(range(len(cases)), [case.case for case in cases])
    axes.invert_yaxis()
    axes.set_xlabel("forward pass with the profiler over one without, a dot per pair of processes")
    return drawn
