"""What stood before the time in which no device worked: what held the host up there.

Idle time belongs to the work that ended it, which is innocent of it. Between the launch of that
work and the one before, the host waited, did something else, or just launched one call after
another. The longest of these is named.
"""

from enum import StrEnum

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices, Union
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.cost import counted_steps
from workflow_src.diagnosis.facts import LARGE
from workflow_src.diagnosis.finding import MOST, Subject
from workflow_src.diagnosis.recording import Recording
from workflow_src.placing.kernel_names import short_names


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
    groups = _idle(subject).groupby(["before", "call", "path", "next_path"], sort=False)["idle_ns"]
    table = groups.agg(times="size", idle_ms="sum").reset_index()
    table[["times", "idle_ms"]] /= [1, NS_PER_MS]
    table[["times", "idle_ms"]] /= counted_steps(subject.recording)
    return table.sort_values("idle_ms", ascending=False, ignore_index=True)


def _idle(subject: Subject) -> pd.DataFrame:
    """A row per idle time: before, call, path, next_path, idle_ns."""
    recording = subject.recording
    work, calls = recording.work, recording.calls
    busy = Union.of(work["start_ns"].to_numpy(), work["end_ns"].to_numpy())
    done = np.maximum.accumulate(work["end_ns"].to_numpy())
    within = np.searchsorted(work["call"], recording.steps["last_call"], side="right")
    ends = np.append(recording.steps["start_ns"].iloc[0], done)[within]
    first, last = ends[0] if len(ends) > 1 else recording.steps["start_ns"].iloc[0], ends[-1]
    begins = np.maximum(np.append(first, busy.ends[:-1])[: len(busy.ends)], first)
    idle_ns = np.minimum(busy.starts, last) - begins
    ending = busy.first[idle_ns > 0]
    held = _held_up(recording).loc[ending]
    table = held.assign(idle_ns=idle_ns[idle_ns > 0])
    large = LARGE * calls.loc[~calls["beside"], "gap_ns"].median()
    enough = np.maximum(MOST * table["idle_ns"], 1)
    waited = (table["wait_ns"] >= enough) & (table["wait_ns"] >= table["gap_ns"])
    gap = (table["gap_ns"] >= np.maximum(enough, large)) & ~waited
    # A name is given only to what is decisive.
    at = np.select([waited, gap], [table["wait_call"], table["gap_call"] - 1], NOWHERE)
    step = np.append(calls["step"], NOWHERE)
    later = gap & (step[at] != NOWHERE) & (step[at] < step[table["gap_call"]])
    launched = subject.calls["launched"].reindex(at, fill_value="").to_numpy()
    names = pd.Series(np.where(waited, np.append(calls["name"], "")[at], launched), table.index)
    return pd.DataFrame(
        {
            "before": np.select(
                [waited, later, gap, table["launched"].to_numpy(dtype=bool)],
                [Before.WAIT, Before.NEXT_STEP, Before.GAP, Before.LAUNCHES],
                Before.DEVICE,
            ),
            "call": short_names(names).where(at != NOWHERE, ""),
            "path": np.append(subject.texts(calls["path"]), "")[at],
            "next_path": subject.texts(work["path"])[ending].to_numpy(),
            "idle_ns": table["idle_ns"],
        }
    )


def _held_up(recording: Recording) -> pd.DataFrame:
    """Of each activity, by row: the longest wait and gap between its launch and the one before.

    wait_ns, gap_ns with wait_call, gap_call (the row of the call, of a gap that of the call after
    it); launched: whether it has a launch of its own after the one before it.
    """
    calls, launches = recording.calls, np.unique(recording.work["call"].to_numpy())
    launches = launches[launches >= 0]
    own = calls[~calls["beside"]]
    blocked = own["end_ns"] - own["start_ns"] - own["cost_ns"]
    # A gap belongs to the launch at or after its call, a wait to the launch after its own call.
    tables = {
        "gap": _longest(own["gap_ns"], np.searchsorted(launches, own.index, side="left")),
        "wait": _longest(blocked, np.searchsorted(launches, own.index, side="right")),
    }
    of_work = recording.work["call"].to_numpy()
    place = np.where(of_work >= 0, np.searchsorted(launches, of_work), -1)
    is_first = np.append(True, of_work[1:] != of_work[:-1])[: len(of_work)]
    found = {"launched": (of_work >= 0) & is_first}
    for name, table in tables.items():
        rows = table.reindex(np.where(found["launched"], place, -1))
        found[f"{name}_ns"] = rows["ns"].fillna(0).to_numpy()
        found[f"{name}_call"] = rows["call"].fillna(-1).to_numpy(dtype=np.int64)
    return pd.DataFrame(found)


def _longest(times: "pd.Series[int]", group: Indices) -> pd.DataFrame:
    """The longest time of each group, `ns`, and the row of its `call`."""
    rows = times.groupby(group).idxmax()
    return pd.DataFrame({"call": rows, "ns": times.loc[rows].to_numpy()}, index=rows.index)
