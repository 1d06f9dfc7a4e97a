"""What a timeline shows of a capture: host ranges, launches, device work, and idle gaps by cause.

Of a case all steps; of another program's capture one step, that of the median wall time, of the
process and path whose steps hold the most device work. All times are integer nanoseconds on the
clocks of the capture.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_src.answers.components import components
from workflow_src.captures.capture import OVERHEAD, UNKNOWN
from workflow_src.captures.merged import OTHER_THREADS
from workflow_src.captures.rows import rows_where, spans
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.case_capture import CaseCapture
from workflow_src.placing.families import families
from workflow_src.placing.kernel_names import short_names
from workflow_src.placing.ledger import ELSEWHERE, Device, idle_gaps, whole_steps
from workflow_src.placing.ranks import COLLECTIVE
from workflow_src.placing.steps import of_thread, step_ranges

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
        none = pd.DataFrame(columns=[*OF_BOTH, "depth", *OF_ACTIVITIES, "cause"])
        return cls(none, none, none)

    @property
    def launches(self) -> pd.DataFrame:
        """The activities whose launch took time, at the time of that."""
        found = self.activities[self.activities["launch_end_ns"] > self.activities["launch_ns"]]
        return found.assign(start_ns=found["launch_ns"], end_ns=found["launch_end_ns"])

    def steps(self, phase: str) -> pd.DataFrame:
        """The ranges that are steps of `phase`, in order."""
        outermost = (self.ranges["phase"] == phase) & (self.ranges["depth"] == 0)
        return self.ranges[outermost].sort_values("step")

    def typical_step(self, phase: str) -> pd.Series:
        """The step of `phase` with the median wall time; there is at least one."""
        return pd.Series(_median(self.steps(phase)).iloc[0])


def _median(steps: pd.DataFrame) -> pd.DataFrame:
    """The one step of the median wall time."""
    order = (steps["end_ns"] - steps["start_ns"]).argsort(kind="stable")
    return steps.take([order.iloc[(len(order) - 1) // 2]])


def timeline_of(case: CaseCapture) -> Timeline:
    """The timeline of a case's capture."""
    ranges, work, calls = case.ranges, case.work, case.capture.calls
    named = components([*ranges["path"], ""])
    ranges = ranges.assign(component=ranges["path"].map(named))
    work = work.assign(
        component=work["path"].map(named),
        family=families(work["name"]),
        short_name=short_names(work["name"]),
    ).sort_values(["start_ns", "end_ns"], ascending=[True, False], ignore_index=True)
    has_calls = bool((calls["kind"] != OVERHEAD).any())
    steps = whole_steps(ranges)
    gaps = idle_gaps(Device.of(case.work, calls), *spans(steps))
    return Timeline(ranges, work, idle_pieces(steps, gaps, has_calls))


def idle_pieces(steps: pd.DataFrame, found: pd.DataFrame, has_calls: bool) -> pd.DataFrame:
    """A row per idle gap and cause in some steps; found: as the ledger's idle_gaps finds them."""
    at, pieces = found["start_ns"], []
    of_step = {name: steps[name].to_numpy()[found["step"]] for name in ("phase", "step")}
    for cause in IN_GAP if has_calls else [UNKNOWN_CAUSE]:
        until = at + found[cause] if has_calls else found["end_ns"]
        pieces.append(pd.DataFrame({**of_step, "cause": cause, "start_ns": at, "end_ns": until}))
        at = until
    table = pd.concat(pieces)
    lasting = table[table["end_ns"] > table["start_ns"]]
    return lasting.sort_values("start_ns", ignore_index=True)


def timeline(source: Attributed) -> Timeline:
    """The timeline of a step; an empty one of a capture without."""
    steps = step_ranges(source)
    if steps.empty:
        return Timeline.empty()
    typical = _typical(steps)
    device, has_calls = of_thread(source, typical)
    gaps, step = idle_gaps(device, *spans(typical)), typical.iloc[0]
    # Of ten million activities, what devices did takes a GB.
    del device
    idle = idle_pieces(typical, gaps, has_calls)
    return Timeline(_ranges(source, step), _activities(source, step), idle)


def _typical(steps: pd.DataFrame) -> pd.DataFrame:
    """The step of the median wall time, of the process and path with the most device work.

    phase: the path, and of which process it is where several have steps.
    """
    of_each = steps.groupby(["process", "path"])["busy_ns"].sum().reset_index()
    most = of_each.loc[[of_each["busy_ns"].idxmax()], ["process", "path"]]
    row = _median(steps.merge(most))
    several = steps["process"].nunique() > 1
    of_process = f" of process {row['process'].iloc[0]}" if several else ""
    return row.assign(phase=row["path"].astype(object) + of_process)


def _ranges(source: Attributed, step: pd.Series) -> pd.DataFrame:
    """The ranges of the step's process, on any thread, that lie in it."""
    ranges, of_range = source.placed.ranges, source.paths.of_range
    mine = ranges.assign(path=source.paths.text[of_range], depth=source.paths.depth[of_range] - 1)
    lies = (mine["start_ns"] >= step["start_ns"]) & (mine["end_ns"] <= step["end_ns"])
    mine = rows_where(mine, (lies & (mine["process"] == step["process"])).to_numpy())
    # The step alone has depth 0, also where it lies in other ranges, or others on another thread.
    is_step = (mine["path"] == step["path"]) & (mine["thread"] == step["thread"])
    deeper = mine["depth"] - mine.loc[is_step, "depth"].min()
    depth = deeper.clip(lower=1).where(~is_step, 0)
    mine = mine.assign(depth=depth, component=mine["name"], thread=_own(mine["thread"]))
    return mine.assign(phase=step["phase"], step=step["step"])


def _own(thread: pd.Series) -> pd.Series:
    """Threads' own numbers, also those of ranks that were joined."""
    return (thread.astype("int64") % OTHER_THREADS).where(thread >= 0, thread)


def _activities(source: Attributed, step: pd.Series) -> pd.DataFrame:
    """The work launched, or run, while the step was open, in order of start, with its range's name.

    A device that lags runs the work of steps before, whose launches are left out. The name of
    collectives is their family's, whatever launched them, so that they have a color.
    """
    work = source.work
    launched = work["launch_ns"].between(step["start_ns"], step["end_ns"], inclusive="left")
    runs = (work["start_ns"] < step["end_ns"]) & (work["end_ns"] > step["start_ns"])
    mine = work[(launched | runs) & (work["process"] == step["process"])]
    before = {name: mine[name].where(launched, UNKNOWN) for name in ("launch_ns", "launch_end_ns")}
    names = np.append(source.placed.ranges["name"].to_numpy(dtype=object), "")
    shown: pd.DataFrame = mine.assign(
        **before,
        path=np.append(source.paths.text, "")[mine["path"].to_numpy()],
        component=np.where(mine["family"] == COLLECTIVE, COLLECTIVE, names[mine["range"]]),
        short_name=source.names["short_name"].to_numpy()[mine["named"]],
        thread=_own(mine["thread"]),
        phase=step["phase"],
        step=step["step"],
    )
    return shown.sort_values(["start_ns", "end_ns"], ascending=[True, False], ignore_index=True)
