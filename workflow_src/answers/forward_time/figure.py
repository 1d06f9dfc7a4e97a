"""The figure of (a): the forward pass's plain time and device time over context."""

from collections.abc import Sequence
from dataclasses import asdict

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.answers.tables import Tables
from workflow_src.answers.times import PhaseTimes, phase_times
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

PHASE = "forward"
Look = tuple[str, str]
"""A color and a marker."""


def draw(tables: Tables) -> Figure:
    """The median of the forward pass over context: a line per size, a panel per precision.

    Bars go from the fastest to the slowest process, where there are several. A dashed line is
    device time: what lies between the two is the host's work and gaps between kernels.
    """
    every = (phase_times(tables, case, PHASE) for case in tables.cases)
    times = {each.case.case: each for each in every if _above_0(each.plain)}
    if not times:
        return nothing("no forward pass was measured")
    cases = [asdict(each.case) for each in times.values()]
    look, by_facet = styles(cases), facets(cases)
    figure, places = panels(cases)
    for heading, axes in places:
        for size, mine in lines(by_facet[heading]).items():
            here = [times[case["case"]] for case in mine]
            _plain(axes, here, look[size], size)
            _device(axes, here, look[size])
        log_values(axes)
        context_axis(axes, [int(case["context"]) for case in cases])
    label_left(figure, "forward pass, median ms\n(bars: fastest to slowest of several processes)")
    _explain(figure.axes[-1], list(times.values()))
    legend_of(figure)
    return figure


def _plain(axes: Axes, times: Sequence[PhaseTimes], look: Look, label: str) -> None:
    """The plain times of one size."""
    color, marker = look
    middle = [each.plain.number for each in times if each.plain]
    bars = [_bar(each) for each in times]
    low, high = [below for below, _ in bars], [above for _, above in bars]
    contexts = [each.case.context for each in times]
    axes.errorbar(contexts, middle, (low, high), color=color, marker=marker, capsize=3, label=label)


def _bar(times: PhaseTimes) -> tuple[float, float]:
    """How far the fastest and the slowest process are from the median; 0 of one process."""
    if not (times.plain and times.fastest and times.slowest):
        return 0.0, 0.0
    middle = times.plain.number
    return max(middle - times.fastest.number, 0.0), max(times.slowest.number - middle, 0.0)


def _device(axes: Axes, times: Sequence[PhaseTimes], look: Look) -> None:
    """A dashed line of a GPU's device time; a dash for a single point."""
    here = [(each.case.context, each.busy.number) for each in times if _is_line(each) and each.busy]
    style = "_" if len(here) == 1 else "--"
    contexts, busy = [context for context, _ in here], [ms for _, ms in here]
    axes.plot(contexts, busy, style, color=look[0], linewidth=1, markersize=12)


def _explain(axes: Axes, times: Sequence[PhaseTimes]) -> None:
    """Entries of the legend for what there is."""
    if any(map(_is_line, times)):
        axes.plot([], [], "--", color="black", label="device time")


def _is_line(times: PhaseTimes) -> bool:
    """Whether the case has a point on the line of device time."""
    return not times.case.on_cpu and _above_0(times.busy)


def _above_0(value: Value | None) -> bool:
    return value is not None and value.number > 0
