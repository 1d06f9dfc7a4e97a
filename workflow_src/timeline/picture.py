"""A step of each phase as lanes over time: host ranges, launches, device work and idle gaps."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pandas as pd

from workflow_src.answers.components import in_model_order
from workflow_src.common import words
from workflow_src.common.case import PHASES
from workflow_src.paper import svg
from workflow_src.placing.ledger import ELSEWHERE
from workflow_src.timeline.steps import UNKNOWN_CAUSE, Timeline

CAUSE_COLORS = {
    "launch": "#CC3311",
    ELSEWHERE: "#870FD2",
    "synchronization": "#AA3377",
    "queued": "#224FA5",
    "tail": "#7A5C00",
    "profiler": "#555555",
    "unexplained": "#000000",
    UNKNOWN_CAUSE: "#777777",
}

RESOLUTION = 20_000
"""Boxes of one color that are closer than this part of a step are drawn as one."""

UNITS = 1_000_000
"""A step is about this wide in a chart's coordinates: nanoseconds would take more digits."""

RANGE_HEIGHT, LANE_HEIGHT, SPACE = 9, 18, 3

OTHERS = "other ranges"
"""The component of what has the least device time, where there are more names than colors."""


def draw(found: Timeline) -> str:
    """The picture as SVG; without a step it only says so.

    Phases stand in the order of PHASES, others after them as they began.
    """
    of_steps = found.ranges.sort_values("start_ns")["phase"]
    ordered = dict.fromkeys((*PHASES, *of_steps))
    phases = [phase for phase in ordered if phase and len(found.steps(phase))]
    if not phases:
        return svg.picture([svg.label("The capture holds no step.", 4, 18)], svg.EMPTY_HEIGHT + 4)
    shown = found.ranges[found.ranges["phase"].isin(phases)]
    found = _with_few_names(replace(found, ranges=shown))
    colors = svg.palette(in_model_order(_names(found)))
    parts, top = [], 4.0
    for phase in phases:
        drawn, top = _phase(phase, found, colors, top)
        parts += drawn
    causes = {f"idle: {cause}": CAUSE_COLORS[cause] for cause in dict.fromkeys(found.idle["cause"])}
    below, height = svg.legend(colors | causes, top)
    return svg.picture([*parts, below], top + height + 6)


def _names(found: Timeline) -> set[str]:
    return {*found.ranges["component"], *found.activities["component"]}


def _with_few_names(found: Timeline) -> Timeline:
    """The same with at most as many components as there are colors."""
    if len(_names(found)) <= len(svg.COLORS):
        return found
    times = found.activities.groupby("component")["duration_ns"].sum()
    most = times.nlargest(len(svg.COLORS) - 1).index
    ranges, work = (
        rows.assign(component=rows["component"].where(rows["component"].isin(most), OTHERS))
        for rows in (found.ranges, found.activities)
    )
    return replace(found, ranges=ranges, activities=work)


def _phase(
    phase: str, found: Timeline, colors: Mapping[str, str], top: float
) -> tuple[list[str], float]:
    """The title, labels and chart of a phase's typical step from `top` on, and where it ends."""
    step = found.typical_step(phase)
    wall = int(step["end_ns"] - step["start_ns"])
    name = words.PHASES.get(phase, phase)
    title = f"{name}: step {step['step']}, {svg.milliseconds(wall)} in the capture"
    parts = [svg.label(title, 4, top + 12, weight="bold")]
    top += 18
    ranges, launches, work, idle = (
        rows[(rows["phase"] == phase) & (rows["step"] == step["step"])]
        for rows in (found.ranges, found.launches, found.activities, found.idle)
    )
    depths, tall = [mine for _, mine in ranges.groupby("depth")], (LANE_HEIGHT, LANE_HEIGHT)
    lanes = [
        ("host ranges", RANGE_HEIGHT, RANGE_HEIGHT - 1, depths, "component", colors),
        ("launches", *tall, [launches][: len(launches)], "component", colors),
        ("device", *tall, [work], "component", colors),
        ("idle", *tall, [idle], "cause", CAUSE_COLORS),
    ]
    boxes, height = list[svg.Boxes](), 0.0
    for name, row_height, box_height, rows, by, of in lanes:
        if rows:
            middle = top + height + row_height * len(rows) / 2 + 4
            parts.append(svg.label(name, svg.LEFT - 6, middle, anchor="end"))
            for mine in rows:
                boxes += _boxes(mine, by, step, of, height, box_height)
                height += row_height
            height += SPACE
    return [*parts, svg.chart(boxes, top, wall // _unit_ns(wall), height)], top + height + 12


def _unit_ns(wall: int) -> int:
    """Nanoseconds per unit of the coordinates of a step that takes `wall` nanoseconds."""
    return max(wall // UNITS, 1)


def _boxes(
    rows: pd.DataFrame,
    column: str,
    step: pd.Series,
    colors: Mapping[str, str],
    top: float,
    height: float,
) -> Iterator[svg.Boxes]:
    """Rows with start_ns and end_ns as boxes, for each value of `column` in its color."""
    begin, end = int(step["start_ns"]), int(step["end_ns"])
    wall, unit_ns = end - begin, _unit_ns(end - begin)
    # A device may run what was launched before the step, and what it launches after it.
    rows = rows[(rows["start_ns"] <= end) & (rows["end_ns"] >= begin)]
    rows = rows.assign(**{name: rows[name].clip(begin, end) for name in ("start_ns", "end_ns")})
    for name, mine in rows.sort_values("start_ns").groupby(column, sort=False):
        starts, lengths = mine["start_ns"] - begin, mine["end_ns"] - mine["start_ns"]
        spans = svg.merged(zip(starts.tolist(), lengths.tolist(), strict=True), wall // RESOLUTION)
        # None is narrower than a unit.
        spans = [(start // unit_ns, max(length // unit_ns, 1)) for start, length in spans]
        text = f"{name}: {svg.milliseconds(int(lengths.sum()))} in {len(mine)}"
        if "family" in mine:
            times = lengths.groupby(mine["family"]).sum().sort_values(ascending=False)
            text += "\n" + ", ".join(f"{f} {svg.milliseconds(int(ns))}" for f, ns in times.items())
        yield svg.Boxes(top, height, colors[str(name)], text, spans)
