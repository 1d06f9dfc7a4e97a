"""Steps on a CPU, which launches nothing: how long they take, and where no operator runs."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from workflow_src.captures.capture import OPERATOR
from workflow_src.captures.domains import is_library
from workflow_src.captures.rows import rows_where
from workflow_src.common.intervals import Indices, Union
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.facts import by_place
from workflow_src.diagnosis.step import Loop, loop_of, ranges_of
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.paths import escaped
from workflow_src.placing.step_rules import is_profilers
from workflow_src.placing.steps import step_ranges


def cpu_steps(attributed: Attributed, process: int) -> Mapping[str, pd.DataFrame]:
    """The tables gaps and step_times of a process all of whose work is operators, if it has steps.

    gaps: a row per place of large ones between operators, with the columns of facts.large_gaps; a
    path ends with a range of torch's own, such as a loader's, where that is the innermost.
    step_times: from the end of the step before to that of this one; of the first, from its start.
    """
    work = rows_where(attributed.work, (attributed.work["process"] == process).to_numpy())
    has_steps = (step_ranges(attributed)["process"] == process).any()
    if not has_steps or not len(work) or (work["kind"] != OPERATOR).any():
        return {}
    loop = loop_of(attributed, process)
    ends = np.append(loop.steps["start_ns"].to_numpy()[:1], loop.steps["end_ns"])
    times = {"step": range(len(loop.steps)), "time_ms": np.diff(ends) / NS_PER_MS}
    return {"gaps": _gaps(attributed, loop, work), "step_times": pd.DataFrame(times)}


def _gaps(attributed: Attributed, loop: Loop, work: pd.DataFrame) -> pd.DataFrame:
    work = work.sort_values(["start_ns", "end_ns"], ignore_index=True)
    start, end = (work[name].to_numpy() for name in ("start_ns", "end_ns"))
    active = Union.of(start, end)
    # The gap before each interval of operators: which begins it, and which ended last before it.
    last = np.maximum.accumulate(np.where(end == np.maximum.accumulate(end), work.index, 0))
    after, before = last[active.first[1:] - 1], active.first[1:]
    steps = Union.of(*(loop.steps[name].to_numpy() for name in ("start_ns", "end_ns")))
    within = steps.until(start[before]) - steps.until(end[after])
    names = attributed.names["short_name"].to_numpy(dtype=object)[work["named"]]
    gaps = pd.DataFrame(
        {
            "after_call": names[after],
            "after_path": _places(attributed, loop, end[after]),
            "before_call": names[before],
            "before_path": _places(attributed, loop, start[before]),
            "gap_ms": within / NS_PER_MS,
        }
    )
    return by_place(gaps[within > 0], len(loop.steps))


def _places(attributed: Attributed, loop: Loop, moments: Indices) -> "pd.Series[str]":
    """The path that the loop's thread is in at each moment, and torch's own range inside."""
    counted, every = attributed.placed.ranges, attributed.capture.ranges
    of_torch = every["domain"].map(is_library) & ~is_profilers(every["name"].to_numpy())
    every = every[of_torch]
    own, library = (
        rows[nesting.at(moments)]
        for nesting, rows in (
            ranges_of(ranges, loop.process, loop.thread) for ranges in (counted, every)
        )
    )
    begins = np.append(counted["start_ns"].to_numpy(), -1)
    inside = np.append(every["start_ns"].to_numpy(), -2)[library] >= begins[own]
    names = np.append(every["name"].to_numpy(dtype=object), "")
    path = pd.Series(np.append(attributed.paths.text[attributed.paths.of_range], "")[own])
    joined = path + np.where(path == "", "", "/") + pd.Series(names[library]).map(escaped)
    return path.where(~inside | (library == NOWHERE), joined)
