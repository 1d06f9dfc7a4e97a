"""The tables of a diagnosis: what is wrong with the steps of each process, and what one asks first.

All values are per step. Of a process without steps, or without API calls in them, only the table
`diagnoses` has a row, which says so.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Union
from workflow_src.common.printable import printable
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.communication import buckets
from workflow_src.diagnosis.diagnose import Diagnosis, diagnose, pace, specific
from workflow_src.diagnosis.facts import copies, differing_steps, host_gaps, waits
from workflow_src.diagnosis.finding import Finding, Subject
from workflow_src.diagnosis.idle_causes import idle_causes
from workflow_src.diagnosis.recording import LAUNCH, Recording
from workflow_src.diagnosis.words import headline, words
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.kernel_names import short_names

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "diagnoses": (
        "problem", "steps", "understood", "recorded_ms", "replayed_ms", "plain", "step_ms",
        "host_ms", "blocked_ms", "device_ms", "collective_wait_ms", "host_alone_ms",
        "device_alone_ms", "pace", "named_ms", "device_left_ms", "unnamed_ms", "launches",
        "launching_ms",
    ),
    "findings": (
        "mechanism", "name", "path", "calls", "host_ms", "device_ms", "step_ms", "saves_ms",
        "saves_with_above_ms", "headline", "remedy", "evidence",
        "example",
    ),
    "waits": ("call", "path", "calls", "blocked_ms"),
    "copies": (
        "direction", "source", "target", "path", "copies", "bytes", "device_ms", "gb_per_s",
        "blocked_ms",
    ),
    "gaps": (
        "after_call", "after_path", "before_call", "before_path", "gaps", "gap_ms", "longest_ms",
    ),
    "buckets": ("name", "path", "bucket", "device_ms", "wait_ms", "exposed_ms"),
    "step_times": ("step", "time_ms"),
    "step_differences": ("step", "path", "what", "ms", "median_ms"),
    "idle_causes": ("before", "call", "path", "next_path", "times", "idle_ms"),
}  # fmt: skip
"""The columns of each table after `process`.

diagnoses: a row per process; problem: why it has no other rows, or plain_ns doesn't count; plain:
whether step_ms, and with it savings, are of the plain step; host_alone_ms, device_alone_ms: what a
step would take if the other one took no time; pace: which of them sets it; named_ms: what all
findings but general ones save together; device_left_ms: what is left if then the host took no time,
and unnamed_ms: the rest of the step; launching_ms: of the host for all launches, were all like
the median one. findings: as in diagnosis.finding, those that save
most first. step_times: from the end of the step before to that of this one, host and device; of
the first, from its start. buckets: as in diagnosis.communication. The others: as in
diagnosis.facts and diagnosis.idle_causes.
"""

DIAGNOSIS_TABLES = tuple(COLUMNS)

Tables = dict[str, pd.DataFrame]


def diagnosis_tables(attributed: Attributed, plain_ns: float | None = None) -> Tables:
    """All tables by name; plain_ns: the time of a step without a profiler, if it is known."""
    of_processes = [
        _of_process(attributed, process, plain_ns) for process in attributed.capture.processes
    ]
    return {
        name: _joined(
            [tables[name] for tables in of_processes if name in tables], ("process", *columns)
        )
        for name, columns in COLUMNS.items()
    }


def _joined(tables: list[pd.DataFrame], columns: tuple[str, ...]) -> pd.DataFrame:
    """Those tables that have rows, one below the other."""
    having = [table for table in tables if len(table)]
    if not having:
        return pd.DataFrame(columns=list(columns))
    return pd.concat(having, ignore_index=True).reindex(columns=list(columns))


def _of_process(attributed: Attributed, process: int, plain_ns: float | None) -> Tables:
    """The tables of one process."""
    try:
        subject = Subject.of(attributed, process)
    except TraceError as error:
        return {"diagnoses": pd.DataFrame([{"process": process, "problem": str(error)}])}
    diagnosis, problem = _diagnosed(subject, plain_ns)
    recording, paths = subject.recording, attributed.paths.text
    plain = plain_ns is not None and problem is None and diagnosis.understood
    tables = {
        "findings": _findings(diagnosis, plain),
        "waits": waits(recording, paths),
        "copies": copies(recording, attributed.capture.copies, paths),
        "gaps": host_gaps(recording, paths),
        "buckets": buckets(subject),
        "step_times": _step_times(recording),
        "step_differences": differing_steps(recording, paths),
        "idle_causes": idle_causes(recording, paths),
    }
    row = {"problem": problem, "plain": plain, **_division(subject, diagnosis)}
    row |= _account(subject, diagnosis)
    tables["diagnoses"] = pd.DataFrame([row])
    return {name: table.assign(process=process) for name, table in tables.items()}


def _diagnosed(subject: Subject, plain_ns: float | None) -> tuple[Diagnosis, str | None]:
    """The diagnosis; without plain_ns, and why, where that can't be the time of these steps."""
    try:
        return diagnose(subject, plain_ns), None
    except TraceError as error:
        return diagnose(subject), str(error)


def _findings(diagnosis: Diagnosis, plain: bool) -> pd.DataFrame:
    """A row per finding, in their order, with its words; plain: as in the table `diagnoses`."""
    others = bool(specific(diagnosis.findings))
    step_ms = diagnosis.step_ms
    return pd.DataFrame([_finding(each, step_ms, plain, others) for each in diagnosis.findings])


def _finding(finding: Finding, step_ms: float, plain: bool, others: bool) -> dict[str, object]:
    said, place = words()[finding.key], finding.place
    quoted = replace(finding, place=replace(place, where=_quotable(place.where)))
    return {
        "mechanism": finding.key,
        "name": said.name,
        "path": place.where,
        "calls": place.calls,
        "host_ms": place.host_ms,
        "device_ms": place.device_ms,
        "step_ms": step_ms,
        "saves_ms": finding.saves_ms,
        "saves_with_above_ms": finding.saves_with_above_ms,
        "headline": headline(quoted, step_ms, plain, others),
        "remedy": said.remedy,
        "evidence": place.evidence,
        "example": _quotable(_short(finding.example)),
    }


def _short(name: str) -> str:
    """A kernel's name as the table of kernels shows it; "" stays."""
    return str(short_names(pd.Series([name])).iloc[0]) if name else ""


def _quotable(path: str) -> str:
    """A path that is no more than a name between backticks."""
    return printable(" ".join(path.split())).replace("`", "'")


def _step_times(recording: Recording) -> pd.DataFrame:
    """A row per step."""
    times = recording.steps["time_ns"] / NS_PER_MS
    return pd.DataFrame({"step": range(len(times)), "time_ms": times.to_numpy()})


def _account(subject: Subject, diagnosis: Diagnosis) -> dict[str, object]:
    """What a step's time is of: named_ms, device_left_ms and unnamed_ms make up step_ms."""
    named_ms = max((each.saves_with_above_ms for each in specific(diagnosis.findings)), default=0.0)
    left_ms = diagnosis.step_ms - named_ms
    device_ms = min(diagnosis.left.device_ns / NS_PER_MS, left_ms)
    launches = subject.calls[(subject.calls["kind"] == LAUNCH) & ~subject.calls["beside"]]
    usual_ns = (launches["gap_ns"] + launches["cost_ns"]).median() if len(launches) else 0.0
    return {
        "pace": pace(diagnosis),
        "named_ms": named_ms if diagnosis.understood else np.nan,
        "device_left_ms": device_ms if diagnosis.understood else np.nan,
        "unnamed_ms": left_ms - device_ms if diagnosis.understood else np.nan,
        "launches": subject.a_step(len(launches)),
        "launching_ms": subject.ms_a_step(len(launches) * usual_ns),
    }


def _division(subject: Subject, diagnosis: Diagnosis) -> dict[str, object]:
    """How a step divides on the host, and how much of it a device works (ms).

    Times are means of the recorded steps that recorded_ms is the mean of: the host's own and what
    held it up, and the device's; and those of the step if the device, or the host, took no time.
    """
    checked, steps = subject.check, subject.recording.steps
    # From one step to the next: the first step only says where the second one begins.
    begin_ns = steps["end_ns"].iloc[0] if len(steps) > 1 else steps["start_ns"].iloc[0]
    count = max(len(steps) - 1, 1)
    calls = subject.calls[~subject.calls["beside"] & (subject.calls["start_ns"] >= begin_ns)]
    work = subject.work[subject.work["call"] >= calls.index[0]]
    host_ns = np.minimum(calls["gap_ns"], calls["start_ns"] - begin_ns) + calls["cost_ns"]
    busy = Union.of(work["start_ns"].to_numpy(), work["end_ns"].to_numpy())
    waiting = subject.attributed.work["wait_ns"].to_numpy()[work["activity"].to_numpy()]
    return {
        "steps": subject.step_count,
        "understood": diagnosis.understood,
        "recorded_ms": checked.recorded_ns / NS_PER_MS,
        "replayed_ms": checked.replayed_ns / NS_PER_MS,
        "step_ms": diagnosis.step_ms,
        "host_ms": host_ns.sum() / NS_PER_MS / count,
        "blocked_ms": calls["blocked_ns"].sum() / NS_PER_MS / count,
        "device_ms": busy.total() / NS_PER_MS / count,
        "collective_wait_ms": np.nansum(waiting) / NS_PER_MS / count
        if subject.attributed.waits_known
        else np.nan,
        "host_alone_ms": diagnosis.bounds.host_ns / NS_PER_MS,
        "device_alone_ms": diagnosis.bounds.device_ns / NS_PER_MS,
    }
