"""Draw steps of a case from its export: host ranges, launches, device work, idle time as lanes."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pandas as pd

from workflow_src.answers.components import in_model_order
from workflow_src.common import words
from workflow_src.common.arguments import existing_folder, new_file, stage_arguments
from workflow_src.common.atomic_write import write_text
from workflow_src.common.case import PHASES
from workflow_src.common.errors import one_sentence
from workflow_src.paper import svg
from workflow_src.placing.case_capture import read_case
from workflow_src.timeline.steps import UNKNOWN_CAUSE, Timeline, timeline_of

CAUSE_COLORS = {
    "launch": "#CC3311",
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
"""The component of what has least device time, where names are more than colors."""


def draw(found: Timeline) -> str:
    """The picture as SVG; phases that aren't of PHASES stand last."""
    if found.steps.empty:
        return svg.picture([svg.label("The capture holds no step.", 4, 18)], svg.EMPTY_HEIGHT + 4)
    names = {*found.ranges["component"], *found.activities["component"]}
    if len(names) > len(svg.COLORS):
        times = found.activities.groupby("component")["duration_ns"].sum()
        names = {*times.nlargest(len(svg.COLORS) - 1).index, OTHERS}
        ranges, work = (
            rows.assign(component=rows["component"].where(rows["component"].isin(names), OTHERS))
            for rows in (found.ranges, found.activities)
        )
        found = replace(found, ranges=ranges, activities=work)
    colors, parts, top = svg.palette(in_model_order(names)), list[str](), 4.0
    of_phase = {step["phase"]: step for _, step in found.steps.sort_values("start_ns").iterrows()}
    for phase in sorted(of_phase, key=[*PHASES, *of_phase].index):
        drawn, top = _step(of_phase[phase], found, colors, top)
        parts += drawn
    causes = {f"idle: {cause}": CAUSE_COLORS[cause] for cause in dict.fromkeys(found.idle["cause"])}
    below, height = svg.legend(colors | causes, top)
    return svg.picture([*parts, below], top + height + 6)


def _step(
    step: pd.Series, found: Timeline, colors: Mapping[str, str], top: float
) -> tuple[list[str], float]:
    phase, wall = step["phase"], int(step["end_ns"] - step["start_ns"])
    name = words.PHASES.get(phase, phase)
    title = f"{name}: step {step['step']}, {svg.milliseconds(wall)} in the capture"
    parts = [svg.label(title, 4, top + 12, weight="bold")]
    top += 18
    ranges, work, idle = (
        rows[rows["phase"] == phase] for rows in (found.ranges, found.activities, found.idle)
    )
    launches = work[work["launch_end_ns"] > work["launch_ns"]]
    launches = launches.assign(start_ns=launches["launch_ns"], end_ns=launches["launch_end_ns"])
    depths = [mine for _, mine in ranges.groupby("depth")]
    lanes = [
        ("host ranges", RANGE_HEIGHT, RANGE_HEIGHT - 1, depths, "component", colors),
        ("launches", LANE_HEIGHT, LANE_HEIGHT, [launches][: len(launches)], "component", colors),
        ("device", LANE_HEIGHT, LANE_HEIGHT, [work], "component", colors),
        ("idle", LANE_HEIGHT, LANE_HEIGHT, [idle], "cause", CAUSE_COLORS),
    ]
    boxes, height, unit_ns = list[svg.Boxes](), 0.0, max(wall // UNITS, 1)
    for name, row_height, box_height, rows, by, of in lanes:
        if rows:
            middle = top + height + row_height * len(rows) / 2 + 4
            parts.append(svg.label(name, svg.LEFT - 6, middle, anchor="end"))
            for mine in rows:
                for value, text, boxed in _boxed(mine, by, step, unit_ns):
                    boxes.append(svg.Boxes(height, box_height, of[value], text, boxed))
                height += row_height
            height += SPACE
    return [*parts, svg.chart(boxes, top, wall // unit_ns, height)], top + height + 12


def _boxed(
    rows: pd.DataFrame, column: str, step: pd.Series, unit_ns: int
) -> Iterator[tuple[str, str, list[tuple[int, int]]]]:
    """Each value of `column`, what is said of its rows, and where they are drawn in the step."""
    begin, end = int(step["start_ns"]), int(step["end_ns"])
    # A device may run what was launched before the step, and what it launches after it.
    rows = rows[(rows["start_ns"] <= end) & (rows["end_ns"] >= begin)]
    rows = rows.assign(**{name: rows[name].clip(begin, end) for name in ("start_ns", "end_ns")})
    for value, mine in rows.sort_values("start_ns").groupby(column, sort=False):
        starts, lengths = mine["start_ns"] - begin, mine["end_ns"] - mine["start_ns"]
        times = zip(starts.tolist(), lengths.tolist(), strict=True)
        # None is narrower than a unit.
        boxes = [
            (start // unit_ns, max(length // unit_ns, 1))
            for start, length in svg.merged(times, (end - begin) // RESOLUTION)
        ]
        text = f"{value}: {svg.milliseconds(int(lengths.sum()))} in {len(mine)}"
        if "family" in mine:
            of_each = lengths.groupby(mine["family"]).sum().sort_values(ascending=False)
            told = (f"{name} {svg.milliseconds(int(ns))}" for name, ns in of_each.items())
            text += "\n" + ", ".join(told)
        yield str(value), text, boxes


def main() -> None:
    """Draw the steps of one case."""
    given = stage_arguments(__doc__, export=existing_folder, output=new_file)
    with one_sentence(given.export.name):
        write_text(given.output, draw(timeline_of(read_case(given.export))))


if __name__ == "__main__":
    main()
