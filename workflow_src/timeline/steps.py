"""What a timeline shows of a capture: host ranges, launches, device work, and idle gaps by cause.

Of a case a step of each phase; of another program's capture one, of the process and path whose
steps hold the most device work: always that of the median wall time. Times are integer nanoseconds
on the clocks of the capture.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from workflow_src.answers.components import components
from workflow_src.captures.capture import UNKNOWN
from workflow_src.captures.rows import spans
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.case_capture import CaseCapture
from workflow_src.placing.ledger import idle_gaps
from workflow_src.placing.paths import Names
from workflow_src.placing.ranks import COLLECTIVE
from workflow_src.placing.steps import of_thread, step_ranges

UNKNOWN_CAUSE = "cause not recorded"
"""Of idle time in captures without API calls, such as those of a CPU."""

IN_GAP = ("launch", "unexplained", "synchronization", "profiler", "queued", "tail")
"""The order in which a gap's causes are drawn: it isn't known but that queue and tail come last."""


@dataclass(frozen=True)
class Timeline:
    """Some steps of a capture: a row per step, range, activity, and idle gap and cause.

    All have times, phase and step. Ranges and activities: path and component; ranges: depth, which
    is 0 for steps alone; activities, by start: times of launch, duration_ns, family.
    """

    steps: pd.DataFrame
    ranges: pd.DataFrame
    activities: pd.DataFrame
    idle: pd.DataFrame


def timeline_of(case: CaseCapture) -> Timeline:
    """The timeline of a case's capture."""
    phases = step_ranges(case.placed).groupby("path", sort=False)
    found = _timeline(case.placed, [_median(steps).assign(phase=path) for path, steps in phases])
    named = components([*found.ranges["path"], *found.activities["path"]])
    ranges, work = (
        rows.assign(component=rows["path"].map(named)) for rows in (found.ranges, found.activities)
    )
    return replace(found, ranges=ranges, activities=work)


def timeline(source: Attributed) -> Timeline:
    """The timeline of a step; phase: its path, and its process if several have steps."""
    steps = step_ranges(source)
    if steps.empty:
        return _timeline(source, [])
    of_each = steps.groupby(["process", "path"])
    number = of_each.ngroup() == of_each["busy_ns"].sum().argmax()
    found = _median(steps[number])
    several = steps["process"].nunique() > 1
    of_process = f" of process {found['process'].iloc[0]}" if several else ""
    return _timeline(source, [found.assign(phase=found["path"].astype(object) + of_process)])


def _median(steps: pd.DataFrame) -> pd.DataFrame:
    # The step of the median wall time.
    order = (steps["end_ns"] - steps["start_ns"]).argsort(kind="stable")
    return steps.take([order.iloc[(len(order) - 1) // 2]])


def _timeline(source: Attributed, chosen: list[pd.DataFrame]) -> Timeline:
    if not chosen:
        return Timeline(*[pd.DataFrame(columns=["path", "component"])] * 4)
    steps = pd.concat(chosen)
    idle, each = _idle(source, steps), [step for _, step in steps.iterrows()]
    ranges = pd.concat([_ranges(source, step) for step in each])
    work = pd.concat([_activities(source, step) for step in each])
    work = work.sort_values(["start_ns", "end_ns"], ascending=[True, False], ignore_index=True)
    return Timeline(steps, ranges, work, idle)


def _idle(source: Attributed, steps: pd.DataFrame) -> pd.DataFrame:
    device, has_calls = of_thread(source, steps)
    found, pieces = idle_gaps(device, *spans(steps)), []
    found[UNKNOWN_CAUSE] = found["end_ns"] - found["start_ns"]
    of_step = {name: steps[name].to_numpy()[found["step"]] for name in ("phase", "step")}
    at = found["start_ns"]
    for cause in IN_GAP if has_calls else [UNKNOWN_CAUSE]:
        until = at + found[cause]
        pieces.append(pd.DataFrame({**of_step, "cause": cause, "start_ns": at, "end_ns": until}))
        at = until
    return pd.concat(pieces).query("end_ns > start_ns").sort_values("start_ns", ignore_index=True)


def _ranges(source: Attributed, step: pd.Series) -> pd.DataFrame:
    ranges, of_range = source.placed.ranges, source.paths.of_range
    lies = (ranges["start_ns"] >= step["start_ns"]) & (ranges["end_ns"] <= step["end_ns"])
    lies &= ranges["process"] == step["process"]
    mine, number = ranges[lies], of_range[lies]
    path, depth = source.paths.text[number], source.paths.depth[number]
    # The step alone has depth 0, also where it lies in other ranges, or others on another thread.
    is_step = (path == step["path"]) & (mine["thread"] == step["thread"])
    depth = np.where(is_step, 0, np.maximum(depth - depth[is_step].min(), 1))
    return _of(step, mine, path).assign(depth=depth, component=mine["name"])


def _activities(source: Attributed, step: pd.Series) -> pd.DataFrame:
    """The work launched, or run, while the step was open, with its range's name.

    A device that lags runs work of steps before, whose launches are left out. Collectives are named
    as their family, so that they have a color.
    """
    work = source.work
    launched = work["launch_ns"].between(step["start_ns"], step["end_ns"], inclusive="left")
    runs = (work["start_ns"] < step["end_ns"]) & (work["end_ns"] > step["start_ns"])
    mine = work[(launched | runs) & (work["process"] == step["process"])]
    before = {name: mine[name].where(launched, UNKNOWN) for name in ("launch_ns", "launch_end_ns")}
    names = np.append(source.placed.ranges["name"].to_numpy(dtype=object), "")[mine["range"]]
    return _of(step, mine, np.append(source.paths.text, "")[mine["path"]]).assign(
        **before,
        component=np.where(mine["family"] == COLLECTIVE, COLLECTIVE, names),
    )


def _of(step: pd.Series, rows: pd.DataFrame, path: Names) -> pd.DataFrame:
    return rows.assign(path=path, phase=step["phase"], step=step["step"])
