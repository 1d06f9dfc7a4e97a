"""What a timeline shows of a capture: host ranges, launches, device work, and idle gaps by cause.

All times are integer nanoseconds on the clocks of the capture.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_src.answers.components import components
from workflow_src.captures.capture import OVERHEAD
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.case_capture import CaseCapture, read_case
from workflow_src.placing.families import families
from workflow_src.placing.kernel_names import short_names
from workflow_src.placing.ledger import ELSEWHERE, Device, idle_parts
from workflow_src.placing.range_times import whole_steps

UNKNOWN_CAUSE = "cause not recorded"
"""The cause of idle time in captures without API calls, such as those of a CPU."""

BOTH_COLUMNS = ("start_ns", "end_ns", "thread", "path", "component", "phase", "step", "name")
RANGE_COLUMNS = (*BOTH_COLUMNS, "depth")
LAUNCH_COLUMNS = ("launch_ns", "launch_end_ns")
ACTIVITY_COLUMNS = (*BOTH_COLUMNS, *LAUNCH_COLUMNS, "duration_ns", "family", "short_name")
IDLE_COLUMNS = ("phase", "step", "cause", "start_ns", "end_ns")

IN_GAP = (ELSEWHERE, "launch", "unexplained", "synchronization", "profiler", "queued", "tail")
"""The order in which a gap's causes are drawn. Their lengths are exact; their order is not known
of all, but the queue and the tail always come last."""


@dataclass(frozen=True)
class Timeline:
    """The steps of a capture.

    ranges: a row per range: RANGE_COLUMNS. activities: a row per activity, in order of start:
    ACTIVITY_COLUMNS. idle: a row per idle gap and cause: IDLE_COLUMNS.
    """

    ranges: pd.DataFrame
    activities: pd.DataFrame
    idle: pd.DataFrame

    @classmethod
    def empty(cls) -> "Timeline":
        """That of a capture without steps."""
        columns = RANGE_COLUMNS, ACTIVITY_COLUMNS, IDLE_COLUMNS
        return cls(*(pd.DataFrame(columns=list(names)) for names in columns))

    def steps(self, phase: str) -> pd.DataFrame:
        """The ranges that are steps of `phase`, in order."""
        outermost = (self.ranges["phase"] == phase) & (self.ranges["depth"] == 0)
        return self.ranges[outermost].sort_values("step")

    def typical_step(self, phase: str) -> pd.Series:
        """The step of `phase` with the median wall time; there is at least one."""
        steps = self.steps(phase)
        wall = (steps["end_ns"] - steps["start_ns"]).sort_values(kind="stable")
        typical: pd.Series = steps.loc[wall.index[(len(wall) - 1) // 2]]
        return typical


def timeline(folder: Path, rules: pd.DataFrame | None = None) -> Timeline:
    """The timeline of an exported capture. Raises TraceError if it isn't one."""
    return timeline_of(read_case(folder), rules)


def timeline_of(case: CaseCapture, rules: pd.DataFrame | None = None) -> Timeline:
    """The timeline of a case's capture; `rules` are those of families.csv unless given."""
    ranges, calls = case.ranges, case.capture.calls
    found = components([*ranges["path"].unique(), ""])
    named = {path: component.name for path, component in found.items()}
    ranges = ranges.assign(component=ranges["path"].map(named))
    steps = whole_steps(ranges)
    has_calls = bool((calls["kind"] != OVERHEAD).any())
    idle = idle_gaps(steps, Device.of(case.work, calls), has_calls)
    return Timeline(ranges, _placed(ranges, case.work, named, rules), idle)


def _placed(
    ranges: pd.DataFrame,
    activities: pd.DataFrame,
    named: Mapping[str, str],
    rules: pd.DataFrame | None,
) -> pd.DataFrame:
    """Activities with the path, phase and step that they were launched in, and their names."""
    at = activities["range"].to_numpy()
    paths = np.append(ranges["path"].to_numpy(dtype=object), "")[at]
    phases = np.append(ranges["phase"].to_numpy(dtype=object), "")[at]
    steps = np.append(ranges["step"].to_numpy(), NOWHERE)[at]
    placed = activities.assign(path=paths, phase=phases, step=steps)
    return placed.assign(
        component=placed["path"].map(named),
        family=families(placed["name"], rules),
        short_name=short_names(placed["name"]),
    ).sort_values(["start_ns", "end_ns"], ascending=[True, False], ignore_index=True)


def idle_gaps(steps: pd.DataFrame, device: Device, has_calls: bool) -> pd.DataFrame:
    """A row per idle gap and cause in some steps, with IDLE_COLUMNS; arguments as of the ledger."""
    start, end = (steps[name].to_numpy() for name in ("start_ns", "end_ns"))
    idle = idle_parts(device.gaps, device.host, start, end)
    found, at = idle.gaps, idle.gaps.starts
    parts = idle.parts if has_calls else {UNKNOWN_CAUSE: found.ends - found.starts}
    of_step = {name: steps[name].to_numpy()[idle.step] for name in ("phase", "step")}
    pieces = []
    for cause in IN_GAP if has_calls else (UNKNOWN_CAUSE,):
        until = at + parts[cause]
        pieces.append(pd.DataFrame({**of_step, "cause": cause, "start_ns": at, "end_ns": until}))
        at = until
    table = pd.concat(pieces)
    lasting = table[table["end_ns"] > table["start_ns"]]
    return lasting.sort_values("start_ns", ignore_index=True)
