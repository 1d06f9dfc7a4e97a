"""What is wrong with the steps of a capture, and the tables that show it.

All values are per step, of the steps as recorded; `path` is "" where no range was open.
"""

from collections.abc import Callable
from math import nan

import pandas as pd

from workflow_src.common.errors import TraceError
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis import facts
from workflow_src.diagnosis.communication import buckets
from workflow_src.diagnosis.diagnose import Diagnosis, diagnose
from workflow_src.diagnosis.finding import Subject
from workflow_src.diagnosis.words import NOTHING, headline, words
from workflow_src.placing.attributed import Attributed

COLUMNS = {
    "waits": ("call", "path", "calls", "blocked_ms"),
    "copies": (
        *("direction", "source", "target", "path"),
        *("copies", "bytes", "device_ms", "gb_per_s", "blocked_ms"),
    ),
    "gaps": (
        *("after_call", "after_path", "before_call", "before_path"),
        *("gaps", "gap_ms", "longest_ms"),
    ),
    "buckets": ("name", "path", "bucket", "device_ms", "wait_ms", "exposed_ms"),
    "step_differences": ("step", "path", "what", "ms", "median_ms"),
    "findings": (
        *("mechanism", "name", "path", "calls", "host_ms", "device_ms"),
        *("saves_ms", "saves_with_above_ms", "headline", "remedy", "evidence"),
    ),
    "diagnoses": ("step_ms", "understood", "host_alone_ms", "device_alone_ms", "headline"),
}
"""The columns of each table after `process`.

waits, copies, gaps, step_differences: as in diagnosis.facts; buckets: as in
diagnosis.communication. findings: as in diagnosis.finding,
those that save most first. diagnoses: a row per process; host_alone_ms, device_alone_ms: what a
step would take if the other one took no time; headline: of the first finding.
"""

DIAGNOSIS_TABLES = tuple(COLUMNS)


def diagnosis_tables(
    attributed: Attributed, plain_ns: float | None = None
) -> dict[str, pd.DataFrame]:
    """DIAGNOSIS_TABLES, of all processes that have steps; plain_ns: a step's time, if known.

    Raises TraceError if plain_ns can't be the time of a process's steps.
    """
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in DIAGNOSIS_TABLES}
    for subject in _subjects(attributed):
        for name, table in _tables(subject, diagnose(subject, plain_ns)).items():
            parts[name].append(table.assign(process=subject.process))
    return {name: _joined(name, tables) for name, tables in parts.items()}


def _joined(name: str, tables: list[pd.DataFrame]) -> pd.DataFrame:
    """The tables of all processes as one, also where there is none."""
    columns = ["process", *COLUMNS[name]]
    filled = [table for table in tables if len(table)]
    if not filled:
        return pd.DataFrame(columns=columns)
    return pd.concat(filled, ignore_index=True)[columns]


def _subjects(attributed: Attributed) -> list[Subject]:
    """The steps of each process that has any with API calls."""
    found = []
    for process in attributed.capture.processes:
        try:
            found.append(Subject.of(attributed, process))
        except TraceError:
            continue
    return found


def _tables(subject: Subject, diagnosis: Diagnosis) -> dict[str, pd.DataFrame]:
    """The tables of one process, without it."""
    recording, texts = subject.recording, subject.attributed.paths.text
    of_paths: dict[str, Callable[..., pd.DataFrame]] = {
        "waits": facts.waits,
        "gaps": facts.host_gaps,
        "step_differences": facts.differing_steps,
    }
    tables = {name: table(recording, texts) for name, table in of_paths.items()}
    tables["copies"] = facts.copies(recording, subject.attributed.capture.copies, texts)
    tables["buckets"] = buckets(subject)
    tables["findings"] = _findings(diagnosis)
    tables["diagnoses"] = _overview(diagnosis)
    return tables


def _findings(diagnosis: Diagnosis) -> pd.DataFrame:
    """A row per finding."""
    rows = [
        (
            *(each.key, words()[each.key].name, each.where, each.calls, each.host_ms),
            *(each.device_ms, each.saves_ms, each.saves_with_above_ms),
            *(headline(each, diagnosis.step_ms), words()[each.key].remedy, each.evidence),
        )
        for each in diagnosis.findings
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS["findings"]))


def _overview(diagnosis: Diagnosis) -> pd.DataFrame:
    """One row: the step's time, how it divides, and the headline."""
    first = diagnosis.findings[0] if diagnosis.findings else None
    alone = diagnosis.bounds
    row = {
        "step_ms": diagnosis.step_ms,
        "understood": diagnosis.understood,
        "host_alone_ms": alone.host_ns / NS_PER_MS if diagnosis.understood else nan,
        "device_alone_ms": alone.device_ns / NS_PER_MS if diagnosis.understood else nan,
        "headline": headline(first, diagnosis.step_ms) if first else f"{NOTHING}.",
    }
    return pd.DataFrame([row])
