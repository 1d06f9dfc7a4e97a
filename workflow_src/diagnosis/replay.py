"""Replays recorded steps with changes: how long each would take, on host and device."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.changes import Change, Plan
from workflow_src.diagnosis.step import Recording

TOLERANCE = 0.02
"""A step counts as understood if its replay without changes is off by no more than this share."""

BEFORE_ALL, AFTER_ALL = -(2**62), 2**62


@dataclass(frozen=True)
class Replayed:
    """What a replay took.

    times_ns: of each step, from the end of the one before it to its own, host and device; the first
        one's is from its start, or from the end of the work that was launched before it.
    call_start_ns, call_end_ns, work_start_ns, work_end_ns: of each row of the recording, from the
        beginning of its first call's gap.
    """

    times_ns: Indices
    call_start_ns: Indices
    call_end_ns: Indices
    work_start_ns: Indices
    work_end_ns: Indices

    @property
    def step_ns(self) -> float:
        """The mean time from step to step; of a single step, its own."""
        return mean_step_ns(self.times_ns)


def mean_step_ns(times_ns: Indices) -> float:
    """The mean time from step to step: the first step's is not from one to the next."""
    return float(times_ns[1:].mean() if len(times_ns) > 1 else times_ns.mean())


def replay(recording: Recording, changes: Sequence[Change] = ()) -> Replayed:
    """The steps of a recording with all of these changes."""
    plan = Plan.of(recording)
    for change in changes:
        change.apply(plan)
    call_start, call_end, work_start, work_end = _run(plan)
    times = _step_times(plan, call_start, call_end, work_end)
    return Replayed(times, call_start, call_end, work_start, work_end)


def _run(plan: Plan) -> tuple[Indices, Indices, Indices, Indices]:
    """When each call and each activity starts and ends (ns): one pass over the calls, in order.

    An activity starts when its launch has reached the device, the one before it in its lane has
    ended, and so has the one of another lane that it is tied to.
    """
    recording = plan.recording
    work, queue = recording.work, recording.queue
    first = np.searchsorted(work["call"], np.arange(len(recording.calls) + 1)).tolist()
    lanes, latency, between = (work[name].tolist() for name in ("lane", "latency_ns", "gap_ns"))
    duration, dropped = plan.duration_ns.tolist(), plan.dropped.tolist()
    waits, ties = _waits(plan), _ties(recording)
    freed = [BEFORE_ALL] * (max(lanes, default=-1) + 1)
    starts: list[list[int]] = [[] for _ in freed]
    work_start, work_end = _backlog(recording, freed, starts)
    call_start, call_end = [], []
    host, host_began = 0, 0
    calls = zip(
        plan.gap_ns.tolist(),
        plan.cost_ns.tolist(),
        recording.calls["beside"].tolist(),
        first,
        first[1:],
        waits,
        strict=False,
    )
    for gap, cost, beside, row, end_row, awaited in calls:
        began = (host_began if beside else host) + gap
        returned = began + cost
        while row < end_row:
            lane = lanes[row]
            if dropped[row]:
                work_start.append(freed[lane])
                work_end.append(freed[lane])
                row += 1
                continue
            started = starts[lane]
            if len(started) > queue and started[-queue - 1] > returned:
                returned = started[-queue - 1]
            begin = max(returned + latency[row], freed[lane] + between[row], began)
            if row in ties:
                after, distance = ties[row]
                begin = max(begin, work_end[after] + distance)
            started.append(begin)
            work_start.append(begin)
            freed[lane] = max(begin + duration[row], freed[lane])
            work_end.append(begin + duration[row])
            row += 1
        for waited, distance in awaited:
            returned = max(returned, work_end[waited] + distance)
        call_start.append(began)
        call_end.append(returned)
        if not beside:
            host, host_began = returned, began
    return tuple(np.array(each, dtype=np.int64) for each in (call_start, call_end, work_start, work_end))


def _backlog(
    recording: Recording, freed: list[int], starts: list[list[int]]
) -> tuple[list[int], list[int]]:
    """Start and end (ns) of what was launched before the first call, as recorded."""
    early = recording.work[recording.work["call"] == NOWHERE]
    origin = int((recording.calls["start_ns"] - recording.calls["gap_ns"]).iloc[0])
    start, end = ((early[name] - origin).tolist() for name in ("start_ns", "end_ns"))
    for lane, begin, finish in zip(early["lane"].tolist(), start, end, strict=True):
        freed[lane] = max(freed[lane], finish)
        starts[lane].append(begin)
    return start, end


def _waits(plan: Plan) -> list[list[tuple[int, int]]]:
    """For each call, the activities that it returns after, and how long after (ns)."""
    none: list[tuple[int, int]] = []
    found = [none] * len(plan.recording.calls)
    rows = plan.recording.waits[plan.waits]
    for call, work, after in rows[["call", "work", "return_ns"]].itertuples(index=False):
        found[call] = [*found[call], (work, after)]
    return found


def _ties(recording: Recording) -> dict[int, tuple[int, int]]:
    rows = recording.ties[["work", "after", "gap_ns"]].itertuples(index=False)
    return {work: (after, gap) for work, after, gap in rows}


def _step_times(plan: Plan, call_start: Indices, call_end: Indices, work_end: Indices) -> Indices:
    """The times of steps, as in Replayed, from when calls and work start and end.

    A step's end is that of its range or of the last work launched so far. Its range ends after its
    last call by what it was recorded to, but before the next call.
    """
    steps, calls = plan.recording.steps, plan.recording.calls
    of_call = plan.recording.work["call"].to_numpy()
    done = np.append(np.maximum.accumulate(work_end), BEFORE_ALL)
    first, last = steps["call"].to_numpy(), steps["last_call"].to_numpy()
    tail = steps["end_ns"].to_numpy() - calls["end_ns"].to_numpy()[last]
    own = np.append(np.flatnonzero(~calls["beside"].to_numpy()), len(calls))
    left = np.append(plan.gap_ns, AFTER_ALL)[own[np.searchsorted(own, last, side="right")]]
    host_end = call_end[last] + np.minimum(tail, left)
    ends = np.maximum(host_end, done[np.searchsorted(of_call, last, side="right") - 1])
    lead = calls["start_ns"].to_numpy()[first[0]] - steps["start_ns"].iloc[0]
    begin = call_start[first[0]] - min(lead, plan.gap_ns[first[0]])
    begin = max(begin, done[np.searchsorted(of_call, first[0]) - 1])
    return np.diff(np.append(begin, ends)).astype(np.int64)


@dataclass(frozen=True)
class Check:
    """The replay without changes beside the recording: time of a step (ns), mean as in step_ns."""

    recorded_ns: float
    replayed_ns: float

    @property
    def error(self) -> float:
        """By which share of the recorded time the replay is off; more is positive."""
        return self.replayed_ns / self.recorded_ns - 1

    @property
    def understood(self) -> bool:
        """Whether savings can be told of it."""
        return abs(self.error) <= TOLERANCE


def check(recording: Recording) -> Check:
    """How well the model understands a recording."""
    recorded = mean_step_ns(recording.steps["time_ns"].to_numpy())
    return Check(recorded, replay(recording).step_ns)
