"""A step of each phase as lanes over time: host ranges, launches, device work and idle gaps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from workflow_src.answers.components import in_model_order
from workflow_src.common import words
from workflow_src.common.case import PHASES
from workflow_src.paper.svg import (
    COLORS,
    EMPTY_HEIGHT,
    LEFT,
    Boxes,
    chart,
    label,
    legend,
    merged,
    milliseconds,
    palette,
    picture,
)
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


@dataclass(frozen=True)
class Lane:
    """A lane of a chart: its label, its height, and its boxes as if it stood at the top."""

    name: str
    height: float
    boxes: Sequence[Boxes]


def draw(found: Timeline) -> str:
    """The picture as SVG; without a step it only says so.

    Phases stand in the order of PHASES, others after them as they began.
    """
    of_steps = found.ranges.sort_values("start_ns")["phase"]
    ordered = dict.fromkeys((*PHASES, *of_steps))
    phases = [phase for phase in ordered if phase and len(found.steps(phase))]
    found = _with_few_names(found)
    if not phases:
        return picture([label("The capture holds no step.", 4, 18)], EMPTY_HEIGHT + 4)
    names = {*found.ranges["component"], *found.activities["component"]}
    colors = palette(in_model_order(names))
    parts, top = [], 4.0
    for phase in phases:
        step = found.typical_step(phase)
        drawn, top = _phase(phase, step, _lanes(found, step, colors), top)
        parts += drawn
    causes = {f"idle: {cause}": CAUSE_COLORS[cause] for cause in dict.fromkeys(found.idle["cause"])}
    shown, height = legend(colors | causes, top)
    return picture([*parts, shown], top + height + 6)


def _with_few_names(found: Timeline) -> Timeline:
    """The same with at most as many components as there are colors."""
    if len({*found.ranges["component"], *found.activities["component"]}) <= len(COLORS):
        return found
    times = found.activities.groupby("component")["duration_ns"].sum()
    most = times.nlargest(len(COLORS) - 1).index

    def renamed(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(component=rows["component"].where(rows["component"].isin(most), OTHERS))

    return replace(found, ranges=renamed(found.ranges), activities=renamed(found.activities))


def _phase(
    phase: str, step: pd.Series, lanes: Sequence[Lane], top: float
) -> tuple[list[str], float]:
    """The title, labels and chart of a phase from `top` on, and where the next one starts."""
    wall = int(step["end_ns"] - step["start_ns"])
    name = words.PHASES.get(phase, phase)
    title = f"{name}: step {step['step']}, {milliseconds(wall)} in the capture"
    parts = [label(title, 4, top + 12, weight="bold")]
    top += 18
    boxes, height = [], 0.0
    for lane in lanes:
        middle = top + height + lane.height / 2 + 4
        parts.append(label(lane.name, LEFT - 6, middle, anchor="end"))
        boxes += [replace(each, top=each.top + height) for each in lane.boxes]
        height += lane.height + SPACE
    return [*parts, chart(boxes, top, wall // _unit_ns(wall), height)], top + height + 12


def _unit_ns(wall: int) -> int:
    """Nanoseconds per unit of the coordinates of a step that takes `wall` nanoseconds."""
    return max(wall // UNITS, 1)


def _lanes(found: Timeline, step: pd.Series, colors: Mapping[str, str]) -> list[Lane]:
    """The lanes of one step, their times counted from its start."""
    ranges, work, idle = (
        _of_step(rows, step) for rows in (found.ranges, found.activities, found.idle)
    )
    launches = work[work["launch_end_ns"] > work["launch_ns"]]
    lengths = launches["launch_end_ns"] - launches["launch_ns"]
    launches = launches.assign(
        start_ns=launches["launch_ns"], end_ns=launches["launch_end_ns"], duration_ns=lengths
    )
    depths = sorted(ranges["depth"].unique())
    hosts = [
        replace(each, top=RANGE_HEIGHT * depth, height=RANGE_HEIGHT - 1)
        for depth in depths
        for each in _by(ranges[ranges["depth"] == depth], "component", step, colors)
    ]
    lanes = [Lane("host ranges", RANGE_HEIGHT * len(depths), hosts)]
    if len(launches):
        boxes = list(_by(launches, "component", step, colors))
        lanes.append(Lane("launches", LANE_HEIGHT, boxes))
    boxes = list(_by(work, "component", step, colors))
    lanes.append(Lane("device", LANE_HEIGHT, boxes))
    boxes = list(_by(idle, "cause", step, CAUSE_COLORS))
    return [*lanes, Lane("idle", LANE_HEIGHT, boxes)]


def _of_step(rows: pd.DataFrame, step: pd.Series) -> pd.DataFrame:
    mine: pd.DataFrame = rows[(rows["phase"] == step["phase"]) & (rows["step"] == step["step"])]
    return mine


def _by(
    rows: pd.DataFrame, column: str, step: pd.Series, colors: Mapping[str, str]
) -> Iterator[Boxes]:
    """Rows with start_ns and end_ns as boxes, for each value of `column` in its color."""
    wall = int(step["end_ns"] - step["start_ns"])
    unit_ns = _unit_ns(wall)
    for name, mine in rows.sort_values("start_ns").groupby(column, sort=False):
        starts, lengths = mine["start_ns"] - step["start_ns"], mine["end_ns"] - mine["start_ns"]
        spans = merged(zip(starts.tolist(), lengths.tolist(), strict=True), wall // RESOLUTION)
        # None is narrower than a unit.
        spans = [(start // unit_ns, max(length // unit_ns, 1)) for start, length in spans]
        text = f"{name}: {milliseconds(int(lengths.sum()))} in {len(mine)}"
        if "family" in mine:
            times = mine.groupby("family")["duration_ns"].sum().sort_values(ascending=False)
            text += "\n" + ", ".join(f"{f} {milliseconds(int(ns))}" for f, ns in times.items())
        yield Boxes(0, LANE_HEIGHT, colors[str(name)], text, spans)
