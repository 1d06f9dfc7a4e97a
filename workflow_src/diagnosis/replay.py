"""Replays recorded steps with changes: how long each would take, on host and device."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_src.common.intervals import AFTER_ALL, BEFORE_ALL, Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.thresholds import REPLAYED_WITHIN
from workflow_src.diagnosis.edit import Change, Edit, Plan
from workflow_src.diagnosis.recording import Recording
from workflow_src.diagnosis.single_lane import (
    Times,
    is_single_lane,
    own_clock,
    single_lane,
)


@dataclass(frozen=True)
class Replayed(Times):
    """What a replay took.

    times_ns: of each step, from the end of the one before it to its own, host and device; the first
    one's is from its start, or from the end of the work that was launched before it.
    """

    times_ns: Indices

    @property
    def step_ns(self) -> float:
        """The mean time from step to step; of a single step, its own."""
        return mean_step_ns(self.times_ns)


def mean_step_ns(times_ns: Indices) -> float:
    """The mean time from step to step: the first step's is not from one to the next."""
    return float(times_ns[1:].mean() if len(times_ns) > 1 else times_ns.mean())


def replay(recording: Recording, changes: Sequence[Change] = ()) -> Replayed:
    """The steps of a recording with all of these changes."""
    return replayed(changed(recording, changes))


def changed(recording: Recording, changes: Sequence[Change] = ()) -> Plan:
    """What a replay with all of these changes does."""
    plan = Plan.of(recording)
    for change in changes:
        change.apply(plan)
    return plan


def replayed(plan: Plan) -> Replayed:
    """The steps of a plan."""
    times = single_lane(plan) if is_single_lane(plan) else _run(plan)
    return Replayed(**vars(times), times_ns=_step_times(plan, times))


class _Lanes:
    """The lanes of the devices while they are replayed: when each is free, and what has started."""

    def __init__(self, plan: Plan) -> None:
        work = plan.recording.work
        self.queue = plan.recording.queue
        self.lane, self.latency, self.gap = (
            work[name].tolist() for name in ("lane", "latency_ns", "gap_ns")
        )
        self.duration, self.dropped = plan.duration_ns.tolist(), plan.dropped.tolist()
        self.ties = _by_row(plan.recording.ties, ("work", "after", "gap_ns"))
        self.freed = [BEFORE_ALL] * (max(self.lane, default=-1) + 1)
        self.started: list[list[int]] = [[] for _ in self.freed]
        self.starts: list[int] = []
        self.ends: list[int] = []

    def launch(self, row: int, began: int, returned: int) -> int:
        """Launch an activity by a call that began and would return then; when it does return.

        It starts when its launch has reached the device, the one before it in its lane has ended,
        and so has the one of another lane that it is tied to.
        """
        lane = self.lane[row]
        if self.dropped[row]:
            self.starts.append(self.freed[lane])
            self.ends.append(self.freed[lane])
            return returned
        started = self.started[lane]
        if len(started) > self.queue:
            returned = max(returned, started[-self.queue - 1])
        start = max(began, returned + self.latency[row], self.freed[lane] + self.gap[row])
        for after, distance in self.ties.get(row, ()):
            start = max(start, self.ends[after] + distance)
        self.place(row, start, start + self.duration[row])
        return returned

    def place(self, row: int, start: int, end: int) -> None:
        """Let an activity, the next one, start and end then."""
        lane = self.lane[row]
        self.started[lane].append(start)
        self.starts.append(start)
        self.ends.append(end)
        self.freed[lane] = max(end, self.freed[lane])


def _run(plan: Plan) -> Times:
    """Replay a plan: one pass over the calls that launch or wait, in order.

    The host's clock is its own time, which is known beforehand, and what held it up so far.
    """
    lanes = _Lanes(plan)
    start, end = own_clock(plan)
    beside = plan.recording.calls["beside"].to_numpy()
    of_call = np.searchsorted(plan.recording.work["call"], np.arange(len(start) + 1))
    _place_backlog(plan, lanes)
    awaited = _by_row(plan.recording.waits[plan.waits], ("call", "work", "return_ns"))
    active = of_call[1:] > of_call[:-1]
    active[list(awaited)] = True
    rows = np.flatnonzero(active)
    held, held_up = 0, np.zeros(len(start) + 1, dtype=np.int64)
    columns = (rows, start[rows], end[rows], of_call[rows], of_call[rows + 1], beside[rows])
    for call, own_start, own_end, first, last, is_beside in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        began, returned = own_start + held, own_end + held
        for row in range(first, last):
            returned = lanes.launch(row, began, returned)
        for row, after in awaited.get(call, ()):
            returned = max(returned, lanes.ends[row] + after)
        more = returned - own_end - held
        held_up[call] = more
        held += 0 if is_beside else more
    by_own = np.cumsum(np.where(beside, 0, held_up[:-1]))
    before = by_own - np.where(beside, 0, held_up[:-1])
    work = (np.array(times, dtype=np.int64) for times in (lanes.starts, lanes.ends))
    return Times(start + before, end + before + held_up[:-1], *work)


def _place_backlog(plan: Plan, lanes: _Lanes) -> None:
    """Let what was launched before the first call start as recorded, as far as it happens."""
    work, calls = plan.recording.work, plan.recording.calls
    origin = int((calls["start_ns"] - calls["gap_ns"]).iloc[0])
    early = work.loc[work["call"] == NOWHERE, "start_ns"] - origin
    for row, start in enumerate(early):
        at = BEFORE_ALL if lanes.dropped[row] else start
        lanes.place(row, at, at + (0 if lanes.dropped[row] else lanes.duration[row]))


def _by_row(table: pd.DataFrame, columns: tuple[str, str, str]) -> dict[int, list[tuple[int, int]]]:
    """The second and third columns of a table's rows by the first."""
    found: dict[int, list[tuple[int, int]]] = {}
    for row, other, distance in zip(*(table[name].tolist() for name in columns), strict=True):
        found.setdefault(row, []).append((other, distance))
    return found


def _step_times(plan: Plan, times: Times) -> Indices:
    """The times of steps, as in Replayed.

    A step's end is that of its range or of the last work launched so far. Its range ends after its
    last call by what it was recorded to, but before the next call.
    """
    steps, calls = plan.recording.steps, plan.recording.calls
    of_call = plan.recording.work["call"].to_numpy()
    done = np.append(np.maximum.accumulate(times.work_end_ns), BEFORE_ALL)
    first, last = steps["call"].to_numpy(), steps["last_call"].to_numpy()
    tail = steps["end_ns"].to_numpy() - calls["end_ns"].to_numpy()[last]
    own = np.append(np.flatnonzero(~calls["beside"].to_numpy()), len(calls))
    left = np.append(plan.gap_ns, AFTER_ALL)[own[np.searchsorted(own, last, side="right")]]
    host_end = times.call_end_ns[last] + np.minimum(tail, left)
    ends = np.maximum(host_end, done[np.searchsorted(of_call, last, side="right") - 1])
    lead = calls["start_ns"].to_numpy()[first[0]] - steps["start_ns"].iloc[0]
    begin = times.call_start_ns[first[0]] - min(lead, plan.gap_ns[first[0]])
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
        return self.replayed_ns / self.recorded_ns - 1 if self.recorded_ns > 0 else np.inf

    @property
    def understood(self) -> bool:
        """Whether savings can be told of it."""
        return abs(self.error) <= REPLAYED_WITHIN


def check(recording: Recording) -> Check:
    """How well the model understands a recording."""
    recorded = mean_step_ns(recording.steps["time_ns"].to_numpy())
    return Check(recorded, replay(recording).step_ns)


@dataclass(frozen=True)
class Bounds:
    """The time of a step (ns) if the device took none, or if the host took none.

    The longer of the two sets the pace. Both may be far below the step's time: where they wait for
    each other in turn, neither does.
    """

    host_ns: float
    device_ns: float


def bounds(recording: Recording, changes: Sequence[Change] = ()) -> Bounds:
    """What the host and the device alone would take for a step with these changes."""
    work, calls = np.arange(len(recording.work)), np.arange(len(recording.calls))
    own = np.flatnonzero(~recording.calls["beside"].to_numpy())
    host = replay(recording, [*changes, Edit(work=work, factor=0)])
    device = replay(recording, [*changes, Edit(calls, cost=0), Edit(own, gap=0)])
    return Bounds(host.step_ns, device.step_ns)
