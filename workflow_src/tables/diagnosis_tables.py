"""The tables of a diagnosis: what is wrong with the steps of each process, and what one asks first.

All values are per step. Of a process without steps, or without API calls in them, only the table
`diagnosis` has a row, which says so.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Union
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.diagnose import Diagnosis, diagnose
from workflow_src.diagnosis.facts import copies, differing_steps, host_gaps, waits
from workflow_src.diagnosis.finding import Subject
from workflow_src.diagnosis.idle_causes import idle_causes
from workflow_src.diagnosis.replay import check
from workflow_src.diagnosis.words import words
from workflow_src.placing.attributed import Attributed

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "diagnosis": (
        "process", "problem", "steps", "understood", "recorded_ms", "replayed_ms", "plain",
        "step_ms", "host_ms", "blocked_ms", "device_ms", "collective_wait_ms",
        "without_device_ms", "without_host_ms",
    ),
    "findings": (
        "process", "key", "finding", "path", "calls", "host_ms", "device_ms", "step_ms",
        "saves_ms", "saves_with_above_ms", "remedy", "evidence",
    ),
    "waits": ("process", "call", "path", "calls", "blocked_ms"),
    "copies": (
        "process", "direction", "source", "target", "path", "copies", "bytes", "device_ms",
        "gb_per_s", "blocked_ms",
    ),
    "gaps": (
        "process", "after_call", "after_path", "before_call", "before_path", "gaps", "gap_ms",
        "longest_ms",
    ),
    "step_differences": ("process", "step", "path", "what", "ms", "median_ms"),
    "idle_causes": ("process", "before", "call", "path", "next_path", "times", "idle_ms"),
}  # fmt: skip
"""The tables, and the columns of each."""

Tables = dict[str, pd.DataFrame]


def diagnosis_tables(attributed: Attributed, plain_ns: float | None = None) -> Tables:
    """All tables by name; plain_ns: the time of a step without a profiler, if it is known."""
    of_processes = [
        _of_process(attributed, process, plain_ns) for process in attributed.capture.processes
    ]
    return {
        name: _joined([tables[name] for tables in of_processes if name in tables], columns)
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
        return {"diagnosis": pd.DataFrame([{"process": process, "problem": str(error)}])}
    diagnosis, problem = _diagnosed(subject, plain_ns)
    recording, paths = subject.recording, attributed.paths.text
    tables = {
        "findings": _findings(diagnosis),
        "waits": waits(recording, paths),
        "copies": copies(recording, attributed.capture.copies, paths),
        "gaps": host_gaps(recording, paths),
        "step_differences": differing_steps(recording, paths),
        "idle_causes": idle_causes(recording, paths),
    }
    plain = plain_ns is not None and problem is None and diagnosis.understood
    row = {"problem": problem, "plain": plain, **_division(subject, diagnosis)}
    tables["diagnosis"] = pd.DataFrame([row])
    return {name: table.assign(process=process) for name, table in tables.items()}


def _diagnosed(subject: Subject, plain_ns: float | None) -> tuple[Diagnosis, str | None]:
    """The diagnosis; without plain_ns, and why, where that can't be the time of these steps."""
    try:
        return diagnose(subject, plain_ns), None
    except TraceError as error:
        return diagnose(subject), str(error)


def _findings(diagnosis: Diagnosis) -> pd.DataFrame:
    """A row per finding, in their order, with its words."""
    rows = []
    for finding in diagnosis.findings:
        said = words()[finding.key]
        row = {"key": finding.key, "finding": said.name, "path": finding.where}
        numbers = ("calls", "host_ms", "device_ms", "saves_ms", "saves_with_above_ms", "evidence")
        row |= {name: getattr(finding, name) for name in numbers}
        rows.append(row | {"step_ms": diagnosis.step_ms, "remedy": said.remedy})
    return pd.DataFrame(rows)


def _division(subject: Subject, diagnosis: Diagnosis) -> dict[str, object]:
    """How a step divides on the host, and how much of it a device works (ms).

    Times are of the recorded step: the host's own and what held it up, from the first step's start
    to the last one's end; and of the step if the device, or the host, took no time.
    """
    recording, work = subject.recording, subject.work
    checked = check(recording)
    own = subject.calls[~subject.calls["beside"]]
    host_ns = (own["gap_ns"] + own["cost_ns"]).sum()
    busy = Union.of(work["start_ns"].to_numpy(), work["end_ns"].to_numpy())
    waiting = subject.attributed.work["wait_ns"].to_numpy()[work["activity"].to_numpy()]
    return {
        "steps": subject.step_count,
        "understood": diagnosis.understood,
        "recorded_ms": checked.recorded_ns / NS_PER_MS,
        "replayed_ms": checked.replayed_ns / NS_PER_MS,
        "step_ms": diagnosis.step_ms,
        "host_ms": subject.ms_a_step(host_ns),
        "blocked_ms": subject.ms_a_step(own["blocked_ns"].sum()),
        "device_ms": subject.ms_a_step(busy.total()),
        "collective_wait_ms": subject.ms_a_step(np.nansum(waiting))
        if subject.attributed.waits_known
        else np.nan,
        "without_device_ms": diagnosis.bounds.host_ns / NS_PER_MS,
        "without_host_ms": diagnosis.bounds.device_ns / NS_PER_MS,
    }
