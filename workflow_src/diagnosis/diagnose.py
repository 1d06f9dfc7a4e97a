"""What is wrong with a step, and what it costs: findings of every kind, replayed without them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import nan

import numpy as np

from workflow_src.common.intervals import Indices
from workflow_src.common.thresholds import (
    FINDING_AT_LEAST,
    FINDING_OF_ITS_OWN,
    SETS_THE_PACE,
    SMALLER_AT_LEAST,
)
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.finding import Finding
from workflow_src.diagnosis.mechanisms import KINDS
from workflow_src.diagnosis.plain import WITHOUT_PROFILER, plain
from workflow_src.diagnosis.recording import Change
from workflow_src.diagnosis.replay import Bounds, bounds, changed, replay
from workflow_src.diagnosis.subject import Subject, rows_of


@dataclass(frozen=True)
class Diagnosis:
    """The findings, those that save most first; general ones, true of whole programs, last.

    step_ms: of the plain step if `plain`. understood: else no savings are told, and what takes most
    comes first. left: bounds without all findings but general ones; launching_ns: what its launches
    take the host, were all like the median one. smaller: what saves less than FINDING_AT_LEAST and
    takes SMALLER_AT_LEAST, most first.
    """

    findings: tuple[Finding, ...]
    step_ms: float
    understood: bool
    bounds: Bounds
    left: Bounds
    launching_ns: float = nan
    smaller: tuple[Finding, ...] = ()
    plain: bool = False


class Pace(StrEnum):
    """What sets the pace of a step, by what each would take alone."""

    HOST = "the host"
    DEVICE = "the device"
    BOTH = "both alike"
    IN_TURN = "neither: they wait for each other"


def pace(diagnosis: Diagnosis) -> Pace | None:
    """That of a step, if it is understood."""
    if not diagnosis.understood:
        return None
    alone, least_ns = diagnosis.bounds, SETS_THE_PACE * diagnosis.step_ms * NS_PER_MS
    if alone.host_ns >= least_ns:
        return Pace.BOTH if alone.device_ns >= least_ns else Pace.HOST
    return Pace.DEVICE if alone.device_ns >= least_ns else Pace.IN_TURN


def diagnose(subject: Subject, plain_ns: float | None = None) -> Diagnosis:
    """The findings of a subject; plain_ns and TraceError as of `plain`."""
    found = [place for find in KINDS for place in find(subject)]
    if not subject.check.understood:
        least_ms = FINDING_AT_LEAST * subject.check.recorded_ns / NS_PER_MS
        unknown = Bounds(nan, nan)
        much = sorted(found, key=lambda each: -each.takes_ms)
        much = [each for each in much if each.takes_ms >= least_ms]
        return Diagnosis(tuple(much), nan, False, unknown, unknown)
    host: list[Change] = []
    if plain_ns is not None:
        most = WITHOUT_PROFILER.get(subject.attributed.capture.recording.profiler, 1.0)
        host = [plain(subject.recording, plain_ns, most)]
    step_ms = replay(subject.recording, host).step_ns / NS_PER_MS

    def saved_ms(*some: Finding) -> float:
        """What a step saves without some places: at most what they take.

        More would be an effect of the recording's ends. The host's own time is scaled last.
        """
        edits = [edit for each in some for edit in each.edits]
        saves_ms = step_ms - replay(subject.recording, [*edits, *host]).step_ns / NS_PER_MS
        return min(saves_ms, sum(each.takes_ms for each in some))

    candidates = [replace(each, saves_ms=saved_ms(each)) for each in found]
    ranked = _ranked(candidates, saved_ms, FINDING_AT_LEAST * step_ms)
    alone = bounds(subject.recording, host) if host else subject.bounds
    named = [edit for each in ranked if not each.general for edit in each.edits]
    left = bounds(subject.recording, [*named, *host]) if named else alone
    small = [
        replace(each, saves_ms=max(each.saves_ms, 0.0))
        for each in candidates
        if each.saves_ms < FINDING_AT_LEAST * step_ms
        and each.takes_ms >= SMALLER_AT_LEAST * step_ms
        and not each.general
    ]
    small.sort(key=lambda each: (-each.saves_ms, -each.takes_ms))
    launching_ns = _launching_ns(subject, [*named, *host])
    findings, smaller, is_plain = tuple(ranked), tuple(small), plain_ns is not None
    return Diagnosis(findings, step_ms, True, alone, left, launching_ns, smaller, is_plain)


def _launching_ns(subject: Subject, changes: Sequence[Change]) -> float:
    """The host's time (ns a step) for the launches that changes leave, all like the median one."""
    plan, rows = changed(subject.recording, changes), launches(subject)
    rows = rows[plan.cost_ns[rows] > 0]
    usual_ns = float(np.median((plan.gap_ns + plan.cost_ns)[rows])) if len(rows) else 0.0
    return len(rows) * usual_ns / subject.recording.counted


def launches(subject: Subject) -> Indices:
    """The rows of the loop's calls that launch device work, of the steps that count."""
    rows = rows_of(subject.own[subject.own["launches"]])
    return rows[rows >= subject.recording.first_counted]


def _ranked(
    candidates: Sequence[Finding], saved_ms: Callable[..., float], least_ms: float
) -> list[Finding]:
    findings: list[Finding] = []
    saved = 0.0
    worth = [each for each in candidates if each.saves_ms >= least_ms]
    for each in sorted(worth, key=lambda each: (each.general, -each.saves_ms)):
        together = saved_ms(*findings, each)
        if together - saved >= FINDING_OF_ITS_OWN * each.saves_ms:
            saved = together
            findings.append(replace(each, saves_with_above_ms=together))
    return findings
