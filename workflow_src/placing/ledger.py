"""The ledger of a step: its wall time as device time plus idle time, split by cause
(docs/captures.md).

wall = device_active + idle, and idle is the sum of its causes, exactly, in integer nanoseconds. A
gap, up to the device's next activity or the end of the step, is split in this order: `profiler`;
`queued`, from when an activity was available, as its launch call had returned or it started; `tail`
from the start of the step's last blocking call. The remainder is the host's: `synchronization` is
as much as it had been blocked since its previous launch, `launch` the rest, or, if the call that
launched the next activity is not in the capture, `unexplained`.

A blocking call returns microseconds after the device became idle: it costs the gap after it. Had it
taken no time, the next launch would have come earlier by as much, so that is what it explains, at
most the entire gap.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import BLOCKING, matching
from workflow_src.captures.capture import OVERHEAD, PAGEABLE_COPY
from workflow_src.captures.rows import spans
from workflow_src.common.intervals import AFTER_ALL, BEFORE_ALL, Indices, Union, in_time
from workflow_src.common.nesting import NOWHERE

CAUSES = ("launch", "synchronization", "queued", "tail", "profiler", "unexplained")
"""Why the device was idle, each a column idle_{cause}_ns."""

STEP_COLUMNS = (
    *("process", "path", "step", "wall_ns", "device_active_ns", "busy_ns", "idle_ns"),
    *(f"idle_{cause}_ns" for cause in CAUSES),
)

AT_ONCE = 2**17
"""Idle gaps that are split at a time, about."""


def blocking(calls: pd.DataFrame) -> pd.DataFrame:
    """The calls that make the host wait for the device."""
    return calls[matching(calls["name"], BLOCKING) | (calls["kind"] == PAGEABLE_COPY)]


@dataclass(frozen=True)
class Device:
    """What the devices and the host of a process did, over an entire capture.

    gaps: a row per time in which no activity runs, from BEFORE_ALL to AFTER_ALL: start_ns, end_ns;
    ready_ns: when the first launch call of all later activities returned, or AFTER_ALL; known:
    whether the call that launched the next one is in the capture. launches, waits: sorted starts of
    launch calls and of blocking calls; launches begin with BEFORE_ALL twice, for those before the
    capture. overhead: time that the profiler took; held: the same, and time in blocking calls.
    """

    active: Union
    gaps: pd.DataFrame
    launches: Indices
    waits: Indices
    overhead: Union
    held: Union

    @classmethod
    def of(cls, activities: pd.DataFrame, held: pd.DataFrame) -> "Device":
        """The same from activities in any order, and calls that block or are overhead."""
        if not in_time(*spans(activities)):
            activities = activities.sort_values(["start_ns", "end_ns"])
        launch = activities["launch_ns"].to_numpy()
        known = launch != NOWHERE
        launches = np.append([BEFORE_ALL, BEFORE_ALL], launch[known])
        launches.sort()
        # Each time once. np.unique takes 20 times as long.
        launches = launches[np.append([True, True], launches[2:] > launches[1:-1])]
        active = Union.of(*spans(activities))
        starts, ends = np.append(BEFORE_ALL, active.ends), np.append(active.starts, AFTER_ALL)
        # Each column of ten million is let go before the next one.
        active = Union(ends[:-1], starts[1:], active.first)
        gaps = {"start_ns": starts, "end_ns": ends, "known": np.append(known[active.first], True)}
        ready = np.where(known, activities["launch_end_ns"].to_numpy(), AFTER_ALL)
        np.minimum.accumulate(ready[::-1], out=ready[::-1])
        ready = ready[active.first]
        gaps["ready_ns"] = np.append(ready, AFTER_ALL)
        is_overhead = held["kind"] == OVERHEAD
        return cls(
            active,
            pd.DataFrame(gaps, copy=False),
            launches,
            np.sort(held["start_ns"].to_numpy()[~is_overhead]),
            Union.of(*spans(held[is_overhead])),
            Union.of(*spans(held)),
        )

    def within(self, starts: Indices, ends: Indices) -> tuple[pd.DataFrame, Indices]:
        """The parts of gaps in each of the steps [start, end), and in which step each is."""
        first = np.searchsorted(self.gaps["end_ns"], starts, side="right")
        after = np.searchsorted(self.gaps["start_ns"], ends, side="left")
        count = np.maximum(after - first, 0)
        step = np.repeat(np.arange(len(starts)), count)
        some = np.arange(len(step)) + (first - np.cumsum(count) + count)[step]
        found, start, end = self.gaps.iloc[some], starts[step], ends[step]
        return found.assign(
            start_ns=np.maximum(found["start_ns"], start),
            end_ns=np.minimum(found["end_ns"], end),
            known=found["known"] | (found["end_ns"] > end),
        ), step

    def last_waits(self, starts: Indices, ends: Indices) -> Indices:
        """Start of each step's last blocking call if it launched nothing after it, or its end."""
        wait = np.append(self.waits, BEFORE_ALL)[np.searchsorted(self.waits, ends) - 1]
        launch = self.launches[np.searchsorted(self.launches, ends) - 1]
        return np.where(wait > np.maximum(starts - 1, launch), wait, ends)


def idle_gaps(device: Device, starts: Indices, ends: Indices) -> pd.DataFrame:
    """The gaps in the steps [starts, ends): start_ns, end_ns, the number of its step, and how much
    (ns) each of CAUSES explains."""
    found, step = device.within(starts, ends)
    begin, until, ready, known = (
        found[name].to_numpy() for name in ("start_ns", "end_ns", "ready_ns", "known")
    )
    is_tail = (until == ends[step]) & (ready >= ends[step])
    ready = np.where(is_tail, device.last_waits(starts, ends)[step], ready)
    turn = np.clip(ready, begin, until)
    # The launch before the one that ended the host's part of a gap; for the tail, the last of all.
    before = np.searchsorted(device.launches, ready, side="right") - np.where(is_tail, 1, 2)
    since = np.clip(device.launches[before], starts[step], turn)
    blocked = _within(device.held, since, turn) - _within(device.overhead, since, turn)
    profiler = _within(device.overhead, begin, until)
    hosts = turn - begin - _within(device.overhead, begin, turn)
    entire = until - begin - profiler

    most = np.where(is_tail, hosts, entire)
    synchronization = np.minimum(blocked, most) * (known & (hosts > 0))
    rest = np.maximum(hosts - synchronization, 0)
    queued = entire - synchronization - rest
    parts = {
        "launch": rest * known,
        "synchronization": synchronization,
        "queued": queued * ~is_tail,
        "tail": queued * is_tail,
        "profiler": profiler,
        "unexplained": rest * ~known,
    }
    return pd.DataFrame({"start_ns": begin, "end_ns": until, "step": step} | parts, copy=False)


def _within(union: Union, starts: Indices, ends: Indices) -> Indices:
    return union.until(ends) - union.until(starts)


def step_ledger(steps: pd.DataFrame, device: Device, has_calls: bool) -> pd.DataFrame:
    """A row for each of these steps, in order, with STEP_COLUMNS.

    busy_ns: device time launched in the step, where activities that run at the same time all count.
    Without API calls in the capture the causes are missing.
    """
    table = steps.sort_values(["start_ns", "step"], ignore_index=True)
    start, end = spans(table)
    table["wall_ns"] = end - start
    table["device_active_ns"] = _within(device.active, start, end)
    table["idle_ns"] = table["wall_ns"] - table["device_active_ns"]
    causes = [f"idle_{cause}_ns" for cause in CAUSES]
    table[causes] = 0 if has_calls else np.nan
    # Of a million gaps at once, this would take more memory than all else.
    blocks = np.array_split(np.arange(len(table)), 1 + len(device.gaps) // AT_ONCE)
    for some in blocks if has_calls else []:
        gaps = idle_gaps(device, start[some], end[some])
        sums = gaps.groupby("step")[[*CAUSES]].sum().reindex(range(len(some)), fill_value=0)
        table.loc[some, causes] = sums.to_numpy()
    return table[list(STEP_COLUMNS)]
