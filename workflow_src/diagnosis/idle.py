"""Time in which no device worked, and what stood before it; on a CPU, in which no operator ran.

Idle time belongs to the work that ended it, which is innocent of it. Between the launch of that
work and the one before, the host waited, did something else, or just launched one call after
another. The longest of these is named.
"""

from collections.abc import Mapping
from enum import StrEnum

import numpy as np
import pandas as pd

from workflow_src.captures.capture import OPERATOR
from workflow_src.captures.domains import is_library
from workflow_src.captures.rows import rows_where, spans
from workflow_src.common.intervals import Indices, Union
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.facts import by_place
from workflow_src.diagnosis.recording import Mask
from workflow_src.diagnosis.step import Loop, loop_of, open_ranges, texts
from workflow_src.diagnosis.subject import LARGE, MOST, Subject
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.kernel_names import short_names
from workflow_src.placing.paths import escaped
from workflow_src.placing.step_rules import is_profilers
from workflow_src.placing.steps import step_ranges


class Before(StrEnum):
    """What stood before an idle time."""

    WAIT = "the host waited in this call"
    GAP = "the host launched nothing after this call"
    NEXT_STEP = "the host launched nothing after this call until the next step"
    LAUNCHES = "the host launched one call after another"
    DEVICE = "nothing: the launch had been made"


def idle_causes(subject: Subject) -> pd.DataFrame:
    """A row per Before, its call and path, and the path of the work that came next; most first.

    times and idle_ms are per step, from the end of the first step's work to that of the last one's,
    or of a single one from its start: together what the device idles. call: what waited, or before
    a gap what was launched, if anything was; "" stands where no range was open, or no call is
    named.
    """
    recording = subject.recording
    work, calls, steps = recording.work, recording.calls, recording.steps
    busy = Union.of(*spans(work))
    done = np.append(steps["start_ns"].iloc[0], np.maximum.accumulate(work["end_ns"].to_numpy()))
    ends = done[np.searchsorted(work["call"], steps["last_call"], side="right")]
    first = ends[0] if len(ends) > 1 else done[0]
    begins = np.maximum(np.append(first, busy.ends[:-1])[: len(busy.ends)], first)
    idle_ns = np.minimum(busy.starts, ends[-1]) - begins
    ending, idle_ns = busy.first[idle_ns > 0], idle_ns[idle_ns > 0]
    launched, gap, wait = _held_up(subject, ending)
    large = LARGE * calls.loc[~calls["beside"], "gap_ns"].median()
    enough = np.maximum(MOST * idle_ns, 1)
    waited = (wait["ns"] >= enough) & (wait["ns"] >= gap["ns"])
    idled = (gap["ns"] >= np.maximum(enough, large)) & ~waited
    # A name is given only to what is decisive: of a gap, the call before it.
    at = np.select([waited, idled], [wait["call"], gap["call"] - 1], NOWHERE)
    step = np.append(calls["step"], NOWHERE)
    later = idled & (step[at] != NOWHERE) & (step[at] < step[gap["call"]])
    names = subject.calls["launched"].reindex(at, fill_value="").to_numpy()
    named = short_names(pd.Series(np.where(waited, np.append(calls["name"], "")[at], names)))
    before = [Before.WAIT, Before.NEXT_STEP, Before.GAP, Before.LAUNCHES]
    table = pd.DataFrame(
        {
            "before": np.select([waited, later, idled, launched], before, Before.DEVICE),
            "call": named.where(at != NOWHERE, ""),
            "path": np.append(calls["path"], "")[at],
            "next_path": work["path"].to_numpy()[ending],
            "idle_ns": idle_ns,
        }
    )
    groups = table.groupby(["before", "call", "path", "next_path"], sort=False)["idle_ns"]
    sums = groups.agg(times="size", idle_ms="sum") / [1, NS_PER_MS] / recording.counted
    return sums.reset_index().sort_values("idle_ms", ascending=False, ignore_index=True)


def _held_up(subject: Subject, rows: Indices) -> tuple[Mask, pd.DataFrame, pd.DataFrame]:
    """Of some activities: whether each has a launch of its own after the one before it.

    And the longest gap and the longest wait between both launches: ns, and the row of its `call`.
    """
    of_work = subject.recording.work["call"].to_numpy()
    launches = np.unique(of_work[of_work >= 0])
    own = subject.recording.calls.query("~beside")
    launched = (of_work >= 0) & np.append(True, of_work[1:] != of_work[:-1])[: len(of_work)]
    place = np.where(launched, np.searchsorted(launches, of_work), -1)[rows]
    # A gap belongs to the launch at or after its call, a wait to the launch after its own call.
    blocked = own["end_ns"] - own["start_ns"] - own["cost_ns"]
    found = []
    for times, later in ((own["gap_ns"], 0), (blocked, 1)):
        longest = times.groupby(np.searchsorted(launches, own.index + later)).idxmax()
        table = pd.DataFrame({"call": longest, "ns": times.loc[longest].to_numpy()}, longest.index)
        found.append(table.reindex(place, fill_value=0).reset_index(drop=True))
    return launched[rows], found[0], found[1]


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
    start, end = spans(work)
    active = Union.of(start, end)
    # The gap before each interval of operators: which begins it, and which ended last before it.
    last = np.maximum.accumulate(np.where(end == np.maximum.accumulate(end), work.index, 0))
    after, before = last[active.first[1:] - 1], active.first[1:]
    steps = Union.of(*spans(loop.steps))
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
        open_ranges(ranges, loop.process, loop.thread, moments) for ranges in (counted, every)
    )
    begins = np.append(counted["start_ns"].to_numpy(), -1)
    inside = np.append(every["start_ns"].to_numpy(), -2)[library] >= begins[own]
    names = np.append(every["name"].to_numpy(dtype=object), "")
    path = pd.Series(texts(attributed)[own], dtype=str)
    joined = path + np.where(path == "", "", "/") + pd.Series(names[library]).map(escaped)
    return path.where(~inside | (library == NOWHERE), joined)
