"""Replays steps whose host never waits and whose work is in one lane, without a loop over calls.

The result is that of the general replay, to the nanosecond. Starts follow from a running maximum,
as does what a full queue holds the host up by, for as many launches at a time as the queue takes.
"""

from dataclasses import dataclass

import numpy as np

from workflow_src.common.intervals import BEFORE_ALL, Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.edit import Plan


@dataclass(frozen=True)
class Times:
    """When calls and activities start and end, from the beginning of the first call's gap."""

    call_start_ns: Indices
    call_end_ns: Indices
    work_start_ns: Indices
    work_end_ns: Indices


def own_clock(plan: Plan) -> tuple[Indices, Indices]:
    """When each call would start and end (ns) if nothing ever held the host up."""
    beside = plan.recording.calls["beside"].to_numpy()
    advance = np.where(beside, 0, plan.gap_ns + plan.cost_ns)
    before = np.cumsum(advance) - advance
    start = before + plan.gap_ns
    own = np.flatnonzero(~beside)
    latest = np.searchsorted(own, np.flatnonzero(beside)) - 1
    start[beside] += np.where(latest < 0, 0, start[own[latest]] - before[beside])
    return start, start + plan.cost_ns


def is_single_lane(plan: Plan) -> bool:
    """Whether `single_lane` replays a plan: one activity a call, of one lane, and nothing waits."""
    recording = plan.recording
    call = recording.work["call"].to_numpy()
    return bool(
        len(call)
        and not plan.waits.any()
        and not len(recording.ties)
        and call[0] != NOWHERE
        and (np.diff(call) > 0).all()
        and not recording.work["lane"].to_numpy().any()
        and not recording.calls["beside"].to_numpy().any()
        and plan.duration_ns.min() >= 0
        and recording.work["gap_ns"].to_numpy().min() >= 0
    )


def single_lane(plan: Plan) -> Times:
    """When all calls and activities of such a plan start and end."""
    work, (own_start, own_end) = plan.recording.work, own_clock(plan)
    kept = np.flatnonzero(~plan.dropped)
    call = work["call"].to_numpy()[kept]
    start, held = _started(
        own_start[call],
        own_end[call],
        own_end[call] + work["latency_ns"].to_numpy()[kept],
        plan.duration_ns[kept],
        work["gap_ns"].to_numpy()[kept],
        plan.recording.queue,
    )
    held_up = np.zeros(len(own_start), dtype=np.int64)
    held_up[call] = np.diff(held)
    before = np.cumsum(held_up) - held_up
    end = np.append(BEFORE_ALL, start + plan.duration_ns[kept])
    done = end[np.cumsum(~plan.dropped)]
    work_start = done.copy()
    work_start[kept] = start
    return Times(own_start + before, own_end + before + held_up, work_start, done)


def _started(
    began: Indices, returned: Indices, ready: Indices, duration: Indices, gap: Indices, queue: int
) -> tuple[Indices, Indices]:
    """When activities start, and how long the host had been held up before each call, and at last.

    began, returned, ready: when its call would begin and return, and it could start, if nothing
    held the host up.
    """
    count = len(began)
    distance = np.cumsum(np.append(0, duration[:-1]) + np.append(0, gap[1:])[:count])
    start = np.zeros(count, dtype=np.int64)
    held = np.zeros(count + 1, dtype=np.int64)
    latest = np.int64(BEFORE_ALL)
    for first in range(0, count, queue + 1):
        rows = slice(first, min(first + queue + 1, count))
        late = np.full(rows.stop - first, held[first])
        if first:
            freed = start[rows.start - queue - 1 : rows.stop - queue - 1]
            late = np.maximum.accumulate(np.maximum(late, freed - returned[rows]))
        held[first + 1 : rows.stop + 1] = late
        before = held[rows]
        free = np.maximum(began[rows] + before, ready[rows] + late)
        reached = np.maximum.accumulate(np.maximum(free - distance[rows], latest))
        start[rows], latest = reached + distance[rows], reached[-1]
    return start, held
