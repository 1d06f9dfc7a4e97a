"""The timeline of one step of another program's capture.

It is the step of the median wall time, of the process and path whose steps hold the most device
work: its ranges, its launches, the work launched in it, and why the device was idle.
"""

import numpy as np
import pandas as pd

from workflow_src.captures.merged import OTHER_THREADS
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.ranks import COLLECTIVE
from workflow_src.placing.steps import of_thread, step_ranges
from workflow_src.timeline.steps import Timeline, idle_pieces


def timeline(source: Attributed) -> Timeline:
    """The timeline of a step; an empty one of a capture without."""
    steps = step_ranges(source)
    if steps.empty:
        return Timeline.empty()
    typical = _typical(steps)
    idle = idle_pieces(typical, *of_thread(source, typical))
    step = typical.iloc[0]
    return Timeline(_ranges(source, step), _activities(source, step), idle)


def _typical(steps: pd.DataFrame) -> pd.DataFrame:
    """The step of the median wall time, of the process and path with the most device work.

    phase: the path, and of which process it is where several have steps.
    """
    of_each = steps.groupby(["process", "path"])["busy_ns"].sum().reset_index()
    most = of_each.loc[[of_each["busy_ns"].idxmax()], ["process", "path"]]
    mine = steps.merge(most)
    order = (mine["end_ns"] - mine["start_ns"]).sort_values(kind="stable").index
    row: pd.DataFrame = mine.loc[[order[(len(order) - 1) // 2]]]
    several = steps["process"].nunique() > 1
    of_process = f" of process {row['process'].iloc[0]}" if several else ""
    row["phase"] = row["path"].astype(object) + of_process
    return row


def _ranges(source: Attributed, step: pd.Series) -> pd.DataFrame:
    """The ranges of the step's process, on any thread, that lie in it."""
    ranges, of_range = source.placed.ranges, source.paths.of_range
    mine = ranges.assign(path=source.paths.text[of_range], depth=source.paths.depth[of_range] - 1)
    mine = mine[mine["process"] == step["process"]]
    mine = mine[(mine["start_ns"] >= step["start_ns"]) & (mine["end_ns"] <= step["end_ns"])]
    # The step alone has depth 0, also where it lies in other ranges, or others on another thread.
    is_step = (mine["path"] == step["path"]) & (mine["thread"] == step["thread"])
    deeper = mine["depth"] - mine.loc[is_step, "depth"].min()
    depth = deeper.clip(lower=1).where(~is_step, 0)
    mine = mine.assign(depth=depth, component=mine["name"], thread=_own(mine["thread"]))
    of_step: pd.DataFrame = mine.assign(phase=step["phase"], step=step["step"])
    return of_step


def _own(thread: pd.Series) -> pd.Series:
    """Threads' own numbers, also those of ranks that were joined."""
    return (thread.astype("int64") % OTHER_THREADS).where(thread >= 0, thread)


def _activities(source: Attributed, step: pd.Series) -> pd.DataFrame:
    """The work launched while the step was open, in order of start, with its range's name.

    That of collectives is their family's, whatever launched them, so that they have a color.
    """
    work = source.work[source.work["process"] == step["process"]]
    mine = work[(work["launch_ns"] >= step["start_ns"]) & (work["launch_ns"] < step["end_ns"])]
    names = np.append(source.placed.ranges["name"].to_numpy(dtype=object), "")
    shown: pd.DataFrame = mine.assign(
        path=np.append(source.paths.text, "")[mine["path"].to_numpy()],
        component=np.where(mine["family"] == COLLECTIVE, COLLECTIVE, names[mine["range"]]),
        short_name=source.names["short_name"].to_numpy()[mine["named"]],
        thread=_own(mine["thread"]),
        phase=step["phase"],
        step=step["step"],
    )
    return shown.sort_values(["start_ns", "end_ns"], ascending=[True, False], ignore_index=True)
