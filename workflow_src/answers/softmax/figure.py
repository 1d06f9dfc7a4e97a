"""The figure of (e): softmax over attention's matrix products, in time and FLOPs."""

from collections.abc import Sequence
from dataclasses import asdict

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.answers.softmax.result import SoftmaxCase, softmax_of_case
from workflow_src.answers.tables import Tables
from workflow_src.paper.drawing import (
    context_axis,
    facets,
    label_left,
    legend_of,
    lines,
    log_values,
    nothing,
    panels,
    styles,
)
from workflow_src.paper.value import Value

TIME, FLOPS = "-", ":"
"""The styles of the two ratios' lines."""


def draw(tables: Tables) -> Figure:
    """Softmax / (QK^T + AV) in the forward pass: time and FLOPs over context, a color per size."""
    cases = [softmax_of_case(tables, case) for case in tables.cases]
    rows = [asdict(each.case) | {"ratios": each} for each in cases if each.time_ratio]
    if not rows:
        return nothing("softmax and attention's matrix products were not measured apart")
    look, by_facet = styles(rows), facets(rows)
    figure, places = panels(rows)
    for heading, axes in places:
        for size, mine in lines(by_facet[heading]).items():
            _draw(axes, [row["ratios"] for row in mine], *look[size])
        log_values(axes)
        context_axis(axes, [int(row["context"]) for row in rows])
    first = figure.axes[0]
    for size, (color, marker) in look.items():
        first.plot([], [], color=color, marker=marker, label=size)
    first.plot([], [], TIME, color="black", label="ratio in time")
    first.plot([], [], FLOPS, color="black", marker="x", label="ratio in FLOPs")
    label_left(figure, "softmax / (QK^T + AV)")
    legend_of(figure)
    return figure


def _draw(axes: Axes, cases: Sequence[SoftmaxCase], color: str, marker: str) -> None:
    """One size's ratios over context."""
    contexts = [each.case.context for each in cases]
    times, flops = (
        [_number(each) for each in ratios]
        for ratios in ([c.time_ratio for c in cases], [c.flop_ratio for c in cases])
    )
    axes.plot(contexts, times, TIME, color=color, marker=marker)
    axes.plot(contexts, flops, FLOPS, color=color, marker="x")


def _number(ratio: Value | None) -> float:
    return ratio.number if ratio else float("nan")
