"""Replays recorded steps with edits: how long each would take, on host and device."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from workflow_src.common.intervals import AFTER_ALL, BEFORE_ALL, Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.thresholds import REPLAYED_WITHIN
from workflow_src.diagnosis.recording import Change, Edit, Plan, Recording


class Replayed(NamedTuple):
    """When calls return and activities start and end (ns), since the beginning of the first gap;
    times_ns as `time_ns` of Recording.steps."""

    call_end_ns: Indices
    work_start_ns: Indices
    work_end_ns: Indices
    times_ns: Indices

    @property
    def step_ns(self) -> float:
        """As mean_step_ns."""
        return mean_step_ns(self.times_ns)


def mean_step_ns(times_ns: Indices) -> float:
    """The mean time from step to step, which the first one's isn't; of a single step, its own."""
    return float(times_ns[1:].mean() if len(times_ns) > 1 else times_ns.mean())


def replay(recording: Recording, changes: Iterable[Change] = ()) -> Replayed:
    """The steps of a recording with changes."""
    return replayed(changed(recording, changes))


def changed(recording: Recording, changes: Iterable[Change] = ()) -> Plan:
    """The plan of a replay with changes."""
    plan = Plan.of(recording)
    for change in changes:
        change.apply(plan)
    return plan


def replayed(plan: Plan) -> Replayed:
    """The steps of a plan."""
    began, returned, start, end = _run(plan)
    return Replayed(returned, start, end, _step_times(plan, began, returned, end))


def _run(plan: Plan) -> tuple[Indices, ...]:
    """When each call begins and returns, and work starts and ends (docs/replay.md).

    The host's clock is its own time and what held it up so far. What was launched before the first
    call starts as recorded.
    """
    columns = plan.recording.columns
    lane, latency, space = (columns[f"work.{n}"].tolist() for n in ("lane", "latency_ns", "gap_ns"))
    length, dropped = plan.duration_ns.tolist(), plan.dropped.tolist()
    origin = columns["calls.start_ns"][0] - columns["calls.gap_ns"][0]
    recorded = (columns["work.start_ns"] - origin).tolist()
    ties = _by_row(columns[f"ties.{name}"] for name in ("work", "after", "gap_ns"))
    waits = _by_row(columns[f"waits.{n}"][plan.waits] for n in ("call", "work", "return_ns"))
    last = np.searchsorted(columns["work.call"], np.arange(-1, len(plan.gap_ns)), side="right")
    of_calls = (np.append(0, each) for each in (plan.gap_ns, plan.cost_ns, columns["calls.beside"]))
    rows = zip(*(each.tolist() for each in of_calls), last.tolist(), strict=True)
    lanes = range(max(lane, default=-1) + 1)
    freed = [BEFORE_ALL for _ in lanes]
    starts, ends, began, returned = list[int](), list[int](), list[int](), list[int]()
    own_began = clock = held = 0
    for call, (gap, cost, beside, after) in enumerate(rows, NOWHERE):
        own = (own_began if beside else clock) + gap
        at, to = own + held, own + cost + held
        for row in range(len(starts), after):
            number = lane[row]
            free = start = freed[number]
            if not dropped[row]:
                start = recorded[row]
                if call >= 0:
                    start = max(at, to + latency[row], free + space[row])
                for other, distance in ties.get(row, ()):
                    start = max(start, ends[other] + distance)
                freed[number] = max(free, start + length[row])
            starts.append(start)
            ends.append(start + length[row] * (not dropped[row]))
        for row, distance in waits.get(call, ()):
            to = max(to, ends[row] + distance)
        began.append(at)
        returned.append(to)
        if not beside:
            own_began, clock = own, own + cost
            held = to - clock
    every = (began[1:], returned[1:], starts, ends)
    return tuple(np.array(each, dtype=np.int64) for each in every)


def _by_row(columns: Iterable[Indices]) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for row, other, distance in zip(*(column.tolist() for column in columns), strict=True):
        found.setdefault(row, []).append((other, distance))
    return found


def _step_times(plan: Plan, began: Indices, returned: Indices, end: Indices) -> Indices:
    """The time of each step by when calls begin and return, and when work ends.

    A step's range ends as long after its last call as recorded, but before the next call.
    """
    columns = plan.recording.columns
    of_call, first, last = (columns[n] for n in ("work.call", "steps.call", "steps.last_call"))
    done = np.append(np.maximum.accumulate(end), BEFORE_ALL)
    tail = columns["steps.end_ns"] - columns["calls.end_ns"][last]
    own = np.append(np.flatnonzero(~columns["calls.beside"]), len(began))
    left = np.append(plan.gap_ns, AFTER_ALL)[own[np.searchsorted(own, last, side="right")]]
    ends = np.maximum(
        returned[last] + np.minimum(tail, left),
        done[np.searchsorted(of_call, last, side="right") - 1],
    )
    lead = min(
        columns["calls.start_ns"][first[0]] - columns["steps.start_ns"][0], plan.gap_ns[first[0]]
    )
    begin = max(began[first[0]] - lead, done[np.searchsorted(of_call, first[0]) - 1])
    return np.diff(np.append(begin, ends)).astype(np.int64)


def largest(takes: Callable[[float], float], most: float, enough: float) -> float:
    """The largest value, at most `most`, by which a step takes no longer than enough (ns); `takes`
    grows with it."""
    if takes(most) <= enough:
        return most
    low, high = 0.0, most
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if takes(middle) <= enough else (low, middle)
    return low


class Check(NamedTuple):
    """The time of a step (ns) as recorded and as replayed without changes, by mean_step_ns."""

    recorded_ns: float
    replayed_ns: float

    @property
    def understood(self) -> bool:
        """Whether the replay takes the recorded time, so that savings can be told."""
        off_ns = abs(self.replayed_ns - self.recorded_ns)
        return self.recorded_ns > 0 and off_ns <= REPLAYED_WITHIN * self.recorded_ns


def check(recording: Recording) -> Check:
    """Replay a recording as it is."""
    recorded = mean_step_ns(recording.steps["time_ns"].to_numpy())
    return Check(recorded, replay(recording).step_ns)


class Bounds(NamedTuple):
    """The time of a step (ns) if the device, or the host, took none.

    Both may be far below the step's time, where they wait for each other in turn.
    """

    host_ns: float
    device_ns: float


def bounds(recording: Recording, changes: Sequence[Change] = ()) -> Bounds:
    """The bounds of a step with these changes."""
    own = np.flatnonzero(~recording.columns["calls.beside"])
    no_work = [Edit(work=np.arange(len(recording.work)), factor=0)]
    no_host = [Edit(np.arange(len(recording.calls)), cost=0), Edit(own, gap=0)]
    return Bounds(*(replay(recording, [*changes, *no]).step_ns for no in (no_work, no_host)))
