"""Time in which no device worked, and what stood before it.

Between the launch of the work that ended it and the one before, the host waited, did something
else, or just launched: the longest is named.
"""

from enum import StrEnum

import numpy as np
import pandas as pd

from workflow_src.captures.rows import spans
from workflow_src.common.intervals import Indices, Union
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import Mask
from workflow_src.diagnosis.subject import LARGE, MOST, Subject
from workflow_src.placing.kernel_names import short_names


class Before(StrEnum):
    """What stood before an idle time."""

    WAIT = "the host waited in this call"
    GAP = "the host launched nothing after this call"
    NEXT_STEP = "the host launched nothing after this call until the next step"
    LAUNCHES = "the host launched one call after another"
    DEVICE = "nothing: the launch had been made"


def idle_causes(subject: Subject) -> pd.DataFrame:
    """The rows of capture/idle_causes, most first; "" is no range or no call.

    times and idle_ms are from the end of the first step's work to that of the last one's, or of a
    single one from its start.
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
    # Only a decisive call is named: of a gap, the one before it.
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
    """Of some activities: whether each has a launch of its own after the one before it, and the
    longest gap and wait between both launches: ns, and the row of its `call`."""
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
