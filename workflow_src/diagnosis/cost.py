"""What a finding takes of a step: of the same steps that the time of a step is the mean of.

A replay shortens a step by no more than this, as it takes away nothing else.
"""

from dataclasses import dataclass, replace

import numpy as np

from workflow_src.common.intervals import Indices
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.changes import Mask, Plan, ScaleHost, ScaleWork
from workflow_src.diagnosis.finding import Found, Subject
from workflow_src.diagnosis.recording import Recording
from workflow_src.diagnosis.replay import changed


def first_counted(recording: Recording) -> int:
    """The first call of the steps whose mean is a step's time: not the first of several."""
    steps = recording.steps
    return int(steps["last_call"].iloc[0]) + 1 if len(steps) > 1 else int(steps["call"].iloc[0])


@dataclass(frozen=True)
class _Removed:
    """What changes take away: host_ns of each call, device_ns of each activity, and what they are.

    calls: which calls are touched, themselves or by their work; counted: which calls count.
    """

    host_ns: Indices
    device_ns: Indices
    calls: Mask
    counted: Mask


def _removed(recording: Recording, found: Found) -> _Removed:
    before, after = Plan.of(recording), changed(recording, found.changes)
    calls, work = recording.calls, recording.work["call"].to_numpy()
    own = ~calls["beside"].to_numpy()
    host = before.gap_ns - after.gap_ns + before.cost_ns - after.cost_ns
    returns = np.isin(np.arange(len(calls)), recording.waits["call"][~after.waits])
    blocked = (calls["end_ns"] - calls["start_ns"]).to_numpy() - before.cost_ns
    host = np.where(own, np.maximum(host, 0) + np.where(returns, np.maximum(blocked, 0), 0), 0)
    device = before.duration_ns - np.where(after.dropped, 0, after.duration_ns)
    touched = np.zeros(len(calls) + 1, dtype=bool)
    for change in found.changes:
        if not isinstance(change, ScaleHost):
            touched[work[change.work] if isinstance(change, ScaleWork) else change.calls] = True
    counted = np.arange(len(calls)) >= first_counted(recording)
    return _Removed(host, device, touched[:-1], counted)


def _share(amounts: Indices | Mask, counted: Mask, otherwise: float) -> float:
    """The share of some amounts that counts."""
    total = float(amounts.sum())
    return float(amounts[counted].sum()) / total if total > 0 else otherwise


def with_cost(subject: Subject, found: Found) -> Found:
    """A place with calls, host_ms and device_ms of the steps that count.

    They are the mechanism's own, which it gives over all steps; and no less than what the changes
    take away.
    """
    recording = subject.recording
    removed = _removed(recording, found)
    counted, work = removed.counted, recording.work["call"].to_numpy()
    of_work = (work >= 0) & np.append(counted, False)[work]
    steps = max(len(recording.steps) - 1, 1)
    times = len(recording.steps) / steps
    calls = _share(removed.calls, counted, 1 / times)
    host = found.host_ms * times * _share(removed.host_ns, counted, calls)
    device = found.device_ms * times * _share(np.maximum(removed.device_ns, 0), of_work, calls)
    least = [
        float(ns.sum()) / NS_PER_MS / steps
        for ns in (removed.host_ns[counted], removed.device_ns[of_work])
    ]
    return replace(
        found,
        calls=found.calls * times * calls,
        host_ms=max(host, least[0]),
        device_ms=max(device, least[1]),
    )
