"""What a finding takes of a step: of the same steps that the time of a step is the mean of.

A replay shortens a step by no more than this, as it takes away nothing else.
"""

import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.edit import Mask, Plan
from workflow_src.diagnosis.finding import NUMBER, Found, Pattern, Subject
from workflow_src.diagnosis.parts import parts
from workflow_src.diagnosis.recording import Recording
from workflow_src.diagnosis.replay import changed


def first_counted(recording: Recording) -> int:
    """The first call of the steps whose mean is a step's time: not the first of several."""
    steps = recording.steps
    return int(steps["last_call"].iloc[0]) + 1 if len(steps) > 1 else int(steps["call"].iloc[0])


def counted_steps(recording: Recording) -> int:
    """How many steps these are."""
    return max(len(recording.steps) - 1, 1)


@dataclass(frozen=True)
class _Removed:
    """What changes take away: host_ns of each call, device_ns of each activity, and what they are.

    calls, work: which are touched, themselves or a call by its work and work by its call; gaps
    before calls count only of what takes nothing else away.
    """

    host_ns: Indices
    device_ns: Indices
    calls: Mask
    work: Mask


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
    others = [each for each in found.changes if not each.of_gaps]
    for change in others or found.changes:
        touched[change.calls] = touched[work[change.work]] = True
    touched[-1] = False
    return _Removed(host, np.maximum(device, 0), touched[:-1], touched[work])


def _share(amounts: Indices | Mask, counted: Mask, otherwise: float) -> float:
    """The share of some amounts that counts."""
    total = float(amounts.sum())
    return float(amounts[counted].sum()) / total if total > 0 else otherwise


def with_cost(subject: Subject, found: Found) -> Found:
    """A place with host_ms and device_ms of the steps that count, its pattern, and calls by that.

    The times are the mechanism's own, which it gives over all steps; and no less than what the
    changes take away; of the host no more than a step. Of what is in the first step alone they are
    those of that step.
    """
    recording = subject.recording
    removed = _removed(recording, found)
    counted = np.arange(len(recording.calls)) >= first_counted(recording)
    work = recording.work["call"].to_numpy()
    of_work = (work >= 0) & np.append(counted, False)[work]
    steps = counted_steps(recording)
    times = len(recording.steps) / steps
    calls = _share(removed.calls, counted, 1 / times)
    lasted = (recording.work["end_ns"] - recording.work["start_ns"]).to_numpy()
    touched = _share(lasted * removed.work, of_work, calls)
    host = found.host_ms * times * _share(removed.host_ns, counted, calls)
    device = found.device_ms * times * _share(removed.device_ns, of_work, touched)
    least = [
        float(ns.sum()) / NS_PER_MS / steps
        for ns in (removed.host_ns[counted], removed.device_ns[of_work])
    ]
    often, pattern = _pattern(subject, found.calls, removed)
    # Where the device lags, the host's time between the ends of two steps isn't a step's.
    recorded_ms = subject.check.recorded_ns / NS_PER_MS
    host_ms, device_ms = min(max(host, least[0]), recorded_ms), max(device, least[1])
    if pattern.first:
        host_ms, device_ms = (ms * pattern.recorded for ms in (found.host_ms, found.device_ms))
    also = _elsewhere(subject, found.where, removed.work)
    took = replace(found, calls=often, host_ms=host_ms, device_ms=device_ms)
    return replace(took, pattern=pattern, also=also)


def _elsewhere(subject: Subject, where: str, touched: Mask) -> str:
    """The part of a step that has most of the touched work's time, if `where` isn't of it."""
    work = subject.work[touched[subject.work.index]]
    if not where or work.empty:
        return ""
    part = pd.Series(parts(subject, work["path_text"]), index=work.index)
    most = str(work["device_ns"].groupby(part).sum().idxmax())
    outer, inner = sorted((re.sub(NUMBER, "*", name) for name in (most, where)), key=len)
    return "" if f"{inner}/".startswith(f"{outer}/") else most


def _pattern(subject: Subject, calls: float, removed: _Removed) -> tuple[float, Pattern]:
    """How often a place occurs in a step in which it does, the median of these, and its pattern.

    calls: its mean over all steps. What is between two steps belongs to the later one.
    """
    last, recorded = subject.recording.steps["last_call"].to_numpy(), subject.step_count
    step = np.searchsorted(last, np.flatnonzero(removed.calls))
    touched = np.bincount(step, minlength=recorded)[:recorded]
    occurs = np.flatnonzero(touched)
    if not len(occurs):
        return calls, Pattern(recorded, recorded)
    often = calls * recorded * float(np.median(touched[occurs])) / touched.sum()
    copied = subject.copies["bytes"].reindex(np.flatnonzero(removed.work))
    copied_bytes = 0.0 if copied.isna().any() else float(copied.sum()) / len(occurs)
    first = recorded > 1 and occurs.tolist() == [0]
    return max(round(often), 1), Pattern(len(occurs), recorded, first, copied_bytes)
