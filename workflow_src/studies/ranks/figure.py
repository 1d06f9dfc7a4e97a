"""The figure of the study ranks."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.common.datasheets import LINKS_GB_PER_S
from workflow_src.paper.drawing import LINE_COLORS, legend_of, nothing, row_of
from workflow_src.studies.lines import Line, lines, where
from workflow_src.studies.ranks.points import ALL_REDUCE, MB
from workflow_src.studies.ranks.way import Way, ways_of


def draw(table: pd.DataFrame) -> Figure:
    """Bus bandwidth of all-reduces over their size, and per case the parts of each way's step."""
    every = [line for line in lines(table, "ranks") if line.ok]
    reduced = where(every, measurement=ALL_REDUCE)
    reduced = [line for line in reduced if line.has("bytes", "bus_gb_per_s")]
    cases: dict[str, list[Way]] = {}
    for way in ways_of(where(every, measurement="training")):
        if way.ms:
            cases.setdefault(way.case, []).append(way)
    panels = len(cases) + bool(reduced)
    if not panels:
        return nothing("nothing was measured")
    drawn, axes = row_of(panels, (4.2 * panels, 3.4))
    if reduced:
        _bandwidth(axes[0], reduced)
    for case, each in zip(cases.values(), axes[bool(reduced) :], strict=True):
        _steps(each, case)
    legend_of(drawn)
    return drawn


def _bandwidth(axes: Axes, reduced: Sequence[Line]) -> None:
    found = sorted(reduced, key=lambda line: line.amount("bytes"))
    sizes = [line.amount("bytes") / MB for line in found]
    rates = [line.amount("bus_gb_per_s") for line in found]
    axes.plot(sizes, rates, color=LINE_COLORS[0], marker="o", label="bus bandwidth")
    link = LINKS_GB_PER_S.get(found[0].text("gpu"))
    if link:
        axes.axhline(link, color="black", linestyle="--", label="NVLink, one way")
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("all-reduce, MB")
    axes.set_ylabel("GB/s")
    axes.set_title("All-reduce alone", fontsize=10)


def _steps(axes: Axes, case: Sequence[Way]) -> None:
    """A bar per way: the step, with what nothing hides at its end; a mark where it was foretold.

    Where the device waits for launches, what nothing hides is none of the step's time.
    """
    places = range(len(case))
    times = [way.line.amount("median_ms") for way in case]
    exposed = [0.0 if way.waits else way.line.amount("exposed_ms") for way in case]
    rest = [max(0.0, time - part) for time, part in zip(times, exposed, strict=True)]
    axes.barh(places, rest, color=LINE_COLORS[4], label="step")
    axes.barh(places, exposed, left=rest, color=LINE_COLORS[1], label="nothing hides")
    known = [place for place in places if case[place].line.has("predicted_step_ms")]
    foretold = [case[place].line.amount("predicted_step_ms") for place in known]
    axes.plot(foretold, known, color="black", marker="|", linestyle="", label="predicted step")
    axes.set_yticks(list(places), [way.line.text("way").replace("_", " ") for way in case])
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    waits = " (waits for launches)" if case[0].waits else ""
    axes.set_title(f"{case[0].case}{waits}", fontsize=10)
