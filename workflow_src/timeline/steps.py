"""What a timeline shows of a capture: host ranges, launches, device work, and idle gaps by cause.

All times are integer nanoseconds on the clocks of the capture.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.answers.components import components
from workflow_src.captures.capture import OVERHEAD
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.case_capture import CaseCapture
from workflow_src.placing.families import families
from workflow_src.placing.kernel_names import short_names
from workflow_src.placing.ledger import ELSEWHERE, Device, idle_gaps, whole_steps

UNKNOWN_CAUSE = "cause not recorded"
"""The cause of idle time in captures without API calls, such as those of a CPU."""

OF_BOTH = ("start_ns", "end_ns", "thread", "path", "component", "phase", "step", "name")
OF_ACTIVITIES = ("launch_ns", "launch_end_ns", "duration_ns", "family", "short_name")

IN_GAP = (ELSEWHERE, "launch", "unexplained", "synchronization", "profiler", "queued", "tail")
"""The order in which a gap's causes are drawn. Their lengths are exact; their order is not known
of all, but the queue and the tail always come last."""


@dataclass(frozen=True)
class Timeline:
    """The steps of a capture.

    ranges: a row per range: OF_BOTH and depth. activities: a row per activity, in order of start:
    OF_BOTH and OF_ACTIVITIES. idle: a row per idle gap and cause: phase, step, cause, times.
    """

    ranges: pd.DataFrame
    activities: pd.DataFrame
    idle: pd.DataFrame

    @classmethod
    def empty(cls) -> "Timeline":
        """That of a capture without steps."""
        of_idle = ("phase", "step", "cause", "start_ns", "end_ns")
        every = ((*OF_BOTH, "depth"), (*OF_BOTH, *OF_ACTIVITIES), of_idle)
        return cls(*(pd.DataFrame(columns=list(names)) for names in every))

    @property
    def launches(self) -> pd.DataFrame:
        """The activities whose launch took time, at the time of that."""
        found = self.activities[self.activities["launch_end_ns"] > self.activities["launch_ns"]]
        start, end = found["launch_ns"], found["launch_end_ns"]
        return found.assign(start_ns=start, end_ns=end, duration_ns=end - start)

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


def timeline_of(case: CaseCapture, rules: pd.DataFrame | None = None) -> Timeline:
    """The timeline of a case's capture; `rules` are those of families.csv unless given.

    Activities have the path, phase and step that they were launched in.
    """
    ranges, work, calls = case.ranges, case.work, case.capture.calls
    named = {path: found.name for path, found in components([*ranges["path"], ""]).items()}
    ranges = ranges.assign(component=ranges["path"].map(named))
    nowhere: dict[str, Any] = {"path": "", "phase": "", "step": NOWHERE}
    at = work["range"].to_numpy()
    own = {name: np.append(ranges[name].to_numpy(), last)[at] for name, last in nowhere.items()}
    work = work.assign(
        **own,
        component=pd.Series(own["path"]).map(named).to_numpy(),
        family=families(work["name"], rules),
        short_name=short_names(work["name"]),
    ).sort_values(["start_ns", "end_ns"], ascending=[True, False], ignore_index=True)
    has_calls = bool((calls["kind"] != OVERHEAD).any())
    return Timeline(
        ranges, work, idle_pieces(whole_steps(ranges), Device.of(case.work, calls), has_calls)
    )


def idle_pieces(steps: pd.DataFrame, device: Device, has_calls: bool) -> pd.DataFrame:
    """A row per idle gap and cause in some steps; arguments as of the ledger."""
    start, end = (steps[name].to_numpy() for name in ("start_ns", "end_ns"))
    found = idle_gaps(device, start, end)
    at, pieces = found["start_ns"], []
    of_step = {name: steps[name].to_numpy()[found["step"]] for name in ("phase", "step")}
    for cause in IN_GAP if has_calls else [UNKNOWN_CAUSE]:
        until = at + found[cause] if has_calls else found["end_ns"]
        pieces.append(pd.DataFrame({**of_step, "cause": cause, "start_ns": at, "end_ns": until}))
        at = until
    table = pd.concat(pieces)
    lasting = table[table["end_ns"] > table["start_ns"]]
    return lasting.sort_values("start_ns", ignore_index=True)
