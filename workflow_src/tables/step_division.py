"""How a step divides: between findings and what is left, and between the host and the device."""

import numpy as np

from workflow_src.common.intervals import Union
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.cost import counted_steps
from workflow_src.diagnosis.diagnose import Diagnosis, launches, pace, specific
from workflow_src.diagnosis.finding import Subject
from workflow_src.diagnosis.micro_batches import micro_batches

NS_DIGITS = 6
"""Decimals of a millisecond that are whole nanoseconds: what is less is rounding."""


def account(subject: Subject, diagnosis: Diagnosis) -> dict[str, object]:
    """What a step's time is of, to the ns: four columns make up step_ms.

    named_ms, device_left_ms, launching_ms and unnamed_ms.
    """
    row: dict[str, object] = {
        "pace": pace(diagnosis),
        "launches": len(launches(subject)) / counted_steps(subject.recording),
    }
    if not diagnosis.understood:
        return row
    named_ms = max((each.saves_with_above_ms for each in specific(diagnosis.findings)), default=0.0)
    left_ms = diagnosis.step_ms - named_ms
    device_ms = min(diagnosis.left.device_ns / NS_PER_MS, left_ms)
    beyond_ms = round(left_ms - device_ms, NS_DIGITS)
    launching_ms = min(diagnosis.launching_ns / NS_PER_MS, beyond_ms)
    return row | {
        "named_ms": named_ms,
        "device_left_ms": device_ms,
        "launching_ms": launching_ms,
        "unnamed_ms": beyond_ms - launching_ms,
    }


def division(subject: Subject, diagnosis: Diagnosis) -> dict[str, object]:
    """How a step divides on the host, and how much of it a device works (ms).

    Times are means of the recorded steps that recorded_ms is the mean of: the host's own and what
    held it up, at most a step together, and the device's; and those of the step if the device, or
    the host, took no time. Both idle in what is left of the step that savings are of, or where
    that isn't understood, of the recorded one.
    """
    checked, steps = subject.check, subject.recording.steps
    # From one step to the next: the first step only says where the second one begins.
    begin_ns = steps["end_ns"].iloc[0] if len(steps) > 1 else steps["start_ns"].iloc[0]
    count = counted_steps(subject.recording)
    calls = subject.calls[~subject.calls["beside"] & (subject.calls["start_ns"] >= begin_ns)]
    work = subject.work[subject.work["call"] >= calls.index[0]]
    host_ns = np.minimum(calls["gap_ns"], calls["start_ns"] - begin_ns) + calls["cost_ns"]
    busy = Union.of(work["start_ns"].to_numpy(), work["end_ns"].to_numpy())
    waiting = subject.attributed.work["wait_ns"].to_numpy()[work["activity"].to_numpy()]
    # Between its ends of the first and the last step the host may have more time than the steps
    # have: it may wait for what the device had left to do of the first one.
    own_ns = min(host_ns.sum() / count, checked.recorded_ns)
    blocked_ns = min(calls["blocked_ns"].sum() / count, checked.recorded_ns - own_ns)
    busy_ns = busy.total() / count
    alone = (diagnosis.step_ms * NS_PER_MS, diagnosis.bounds.host_ns)
    step_ns, host_alone_ns = alone if diagnosis.understood else (checked.recorded_ns, own_ns)
    return {
        "steps": subject.step_count,
        "understood": diagnosis.understood,
        "recorded_ms": checked.recorded_ns / NS_PER_MS,
        "replayed_ms": checked.replayed_ns / NS_PER_MS,
        "step_ms": diagnosis.step_ms,
        "host_ms": own_ns / NS_PER_MS,
        "blocked_ms": blocked_ns / NS_PER_MS,
        "device_ms": busy_ns / NS_PER_MS,
        "device_idle_ms": max(step_ns - busy_ns, 0) / NS_PER_MS,
        "host_idle_ms": max(step_ns - host_alone_ns, 0) / NS_PER_MS,
        "collective_wait_ms": np.nansum(waiting) / NS_PER_MS / count
        if subject.attributed.waits_known
        else np.nan,
        "micro_batches": micro_batches(subject),
        "host_alone_ms": diagnosis.bounds.host_ns / NS_PER_MS,
        "device_alone_ms": diagnosis.bounds.device_ns / NS_PER_MS,
    }
