"""The tables of a diagnosis: what is wrong with the steps of each process, and what one asks first.

Of a process without steps, or API calls in them, `diagnoses` has a row that says so.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from workflow_src.captures.rows import spans
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Union
from workflow_src.common.table_schema import own_columns
from workflow_src.common.thresholds import FINDING_AT_LEAST
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis import facts
from workflow_src.diagnosis.diagnose import Diagnosis, diagnose, launches, pace
from workflow_src.diagnosis.finding import MECHANISMS, Finding
from workflow_src.diagnosis.idle import idle_causes
from workflow_src.diagnosis.subject import Subject
from workflow_src.diagnosis.words import headline, numbers
from workflow_src.placing.attributed import Attributed

COLUMNS: Mapping[str, tuple[str, ...]] = {
    name: own_columns(f"capture/{name}")
    for name in (
        *("diagnoses", "findings", "smaller", "step_work", "step_calls"),
        *("step_times", "idle_causes"),
    )
}
"""Of each table after `process`."""

LONGER = (
    "a step takes {:.2f} ms by --step-ms, but recorded ones take {:.2f} ms, less than without a "
    "profiler, so that savings are of these"
)

NS_DIGITS = 6
"""Decimals of a millisecond that are whole nanoseconds."""

Row = dict[str, object]


def diagnosis_tables(
    attributed: Attributed, plain_ns: float | None = None
) -> dict[str, pd.DataFrame]:
    """All tables by name; plain_ns: the time of a step without a profiler, if known."""
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in COLUMNS}
    for process in attributed.capture.processes:
        for name, table in _of_process(attributed, process, plain_ns).items():
            if len(table):
                parts[name].append(table.assign(process=process))
    return {
        name: pd.concat(parts[name] or [pd.DataFrame()], ignore_index=True).reindex(
            columns=["process", *columns]
        )
        for name, columns in COLUMNS.items()
    }


def _of_process(
    attributed: Attributed, process: int, plain_ns: float | None
) -> dict[str, pd.DataFrame]:
    try:
        subject = Subject.of(attributed, process)
    except TraceError as error:
        return {"diagnoses": pd.DataFrame([{"problem": str(error)}])}
    diagnosis, problem = _diagnosed(subject, plain_ns)
    times = subject.recording.steps["time_ns"].to_numpy() / NS_PER_MS
    row: Row = {"problem": problem, "plain": diagnosis.plain}
    row |= division(subject, diagnosis) | account(subject, diagnosis)
    return {
        "diagnoses": pd.DataFrame([row]),
        "findings": _rows(diagnosis, diagnosis.findings),
        "smaller": _rows(diagnosis, diagnosis.smaller),
        "step_work": facts.step_work(subject),
        "step_calls": facts.step_calls(subject),
        "step_times": pd.DataFrame({"step": range(len(times)), "time_ms": times}),
        "idle_causes": idle_causes(subject),
    }


def findings_of(subject: Subject, plain_ns: float | None) -> pd.DataFrame:
    """A row per finding of some steps, with the columns that any of them has."""
    diagnosis, _ = _diagnosed(subject, plain_ns)
    return _rows(diagnosis, diagnosis.findings)


def _diagnosed(subject: Subject, plain_ns: float | None) -> tuple[Diagnosis, str | None]:
    """The diagnosis; without plain_ns, and why, where that can't be these steps' time, nor one that
    is longer: a profiler makes nothing faster."""
    recorded_ns = subject.check.recorded_ns
    if plain_ns is not None and plain_ns > (1 + FINDING_AT_LEAST) * recorded_ns:
        return diagnose(subject), LONGER.format(plain_ns / NS_PER_MS, recorded_ns / NS_PER_MS)
    try:
        return diagnose(subject, plain_ns), None
    except TraceError as error:
        return diagnose(subject), str(error)


def _rows(diagnosis: Diagnosis, findings: Sequence[Finding]) -> pd.DataFrame:
    rows = [
        {
            "mechanism": each.key,
            "name": MECHANISMS[each.key].name,
            "path": each.where,
            "host_ms": each.host_ms,
            "device_ms": each.device_ms,
            "step_ms": diagnosis.step_ms,
            "saves_ms": each.saves_ms,
            "saves_with_above_ms": each.saves_with_above_ms,
            "headline": headline(each, diagnosis.step_ms, diagnosis.plain),
            "assumes": MECHANISMS[each.key].assumes.format(**numbers(each)),
            "remedy": MECHANISMS[each.key].remedy,
            **each.told,
        }
        for each in findings
    ]
    return pd.DataFrame(rows)


def account(subject: Subject, diagnosis: Diagnosis) -> Row:
    """What a step's time is of: four columns make up step_ms, to the ns."""
    length, times = facts.repeated(subject)
    row: Row = {
        "pace": pace(diagnosis),
        "launches": len(launches(subject)) / subject.recording.counted,
        "repeated": length,
        "repeats": times,
    }
    if not diagnosis.understood:
        return row
    named = [each.saves_with_above_ms for each in diagnosis.findings if not each.general]
    named_ms = max(named, default=0.0)
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


def division(subject: Subject, diagnosis: Diagnosis) -> Row:
    """How a step divides on host and device, as in capture/diagnoses (ms).

    Times are means of the steps that recorded_ms is the mean of. Both idle in what is left of
    step_ms or, where the step isn't understood, of the recorded one.
    """
    checked, steps = subject.check, subject.recording.steps
    # From one step to the next: the first step only says where the second one begins.
    begin_ns = steps["end_ns"].iloc[0] if len(steps) > 1 else steps["start_ns"].iloc[0]
    count = subject.recording.counted
    calls = subject.calls[~subject.calls["beside"] & (subject.calls["start_ns"] >= begin_ns)]
    work = subject.work[subject.work["call"] >= calls.index[0]]
    host_ns = np.minimum(calls["gap_ns"], calls["start_ns"] - begin_ns) + calls["cost_ns"]
    busy = Union.of(*spans(work))
    waiting = subject.attributed.work["wait_ns"].to_numpy()[work["activity"].to_numpy()]
    # Between the ends of the first and the last step the host may have more time than the steps: it
    # may wait for what the device had left to do of the first one.
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
        "host_alone_ms": diagnosis.bounds.host_ns / NS_PER_MS,
    }
