"""What is wrong with a step, and what it costs: the places of every kind, replayed without them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import nan

import numpy as np

from workflow_src.common.intervals import Indices, Union
from workflow_src.common.thresholds import (
    FINDING_AT_LEAST,
    FINDING_OF_ITS_OWN,
    SETS_THE_PACE,
    SMALLER_AT_LEAST,
)
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis import mechanisms as _registered  # noqa: F401
from workflow_src.diagnosis.cost import counted_steps, first_counted
from workflow_src.diagnosis.edit import Change
from workflow_src.diagnosis.finding import KINDS, MECHANISMS, Finding, Subject, rows_of
from workflow_src.diagnosis.plain import UNKNOWN, WITHOUT_PROFILER, plain
from workflow_src.diagnosis.replay import Bounds, bounds, changed


@dataclass(frozen=True)
class Diagnosis:
    """The findings, those that save most first; general ones, true of whole programs, last.

    step_ms: the step's time that savings are of: the plain one if it is known. understood: whether
    the model takes the recorded time; if not, nothing is said of savings. bounds: the step's time
    (ns) if the device, or the host, took none; left: the same without all findings but general
    ones; launching_ns: what the launches of that take the host, were all like the median one.
    smaller: what saves less than FINDING_AT_LEAST and takes SMALLER_AT_LEAST, most first.
    """

    findings: tuple[Finding, ...]
    step_ms: float
    understood: bool
    bounds: Bounds
    left: Bounds
    launching_ns: float = nan
    smaller: tuple[Finding, ...] = ()


class Pace(StrEnum):
    """What a step goes at the pace of, by what each would take alone."""

    HOST = "the host"
    DEVICE = "the device"
    BOTH = "both alike"
    IN_TURN = "neither: they wait for each other"


def pace(diagnosis: Diagnosis) -> Pace | None:
    """What sets the pace of a step that is understood."""
    if not diagnosis.understood:
        return None
    alone, least_ns = diagnosis.bounds, SETS_THE_PACE * diagnosis.step_ms * NS_PER_MS
    if alone.host_ns >= least_ns:
        return Pace.BOTH if alone.device_ns >= least_ns else Pace.HOST
    return Pace.DEVICE if alone.device_ns >= least_ns else Pace.IN_TURN


def places(subject: Subject) -> list[Finding]:
    """The places of every kind."""
    return [found for find in KINDS for found in find(subject)]


def diagnose(subject: Subject, plain_ns: float | None = None) -> Diagnosis:
    """The findings of a subject; plain_ns: the time of a step without a profiler, if known.

    Raises TraceError if plain_ns can't be the time of this program's steps.
    """
    found = places(subject)
    if not subject.check.understood:
        unknown = Bounds(nan, nan)
        return Diagnosis(_facts(subject, found), nan, False, unknown, unknown)
    host: list[Change] = []
    if plain_ns is not None:
        share = WITHOUT_PROFILER.get(subject.attributed.capture.recording.profiler, UNKNOWN)
        # Of each gap of the host the time in which it ran, as far as findings tell.
        held = [edit for each in found for edit in each.edits if edit.held]
        running_ns = changed(subject.recording, held).gap_ns
        host = [plain(subject.recording, plain_ns, running_ns, share)]
    step_ns = subject.step_with(*host)
    saved_ns = [_saved_ns(subject, [each], host, step_ns) for each in found]
    candidates = [
        replace(each, saves_ms=ns / NS_PER_MS) for each, ns in zip(found, saved_ns, strict=True)
    ]
    ranked = _ranked(subject, candidates, host, step_ns)
    alone = bounds(subject.recording, host) if host else subject.bounds
    named = [edit for each in specific(ranked) for edit in each.edits]
    left = bounds(subject.recording, [*named, *host]) if named else alone
    step_ms, smaller = step_ns / NS_PER_MS, _smaller(candidates, step_ns / NS_PER_MS)
    launching_ns = _launching_ns(subject, [*named, *host])
    return Diagnosis(ranked, step_ms, True, alone, left, launching_ns, smaller)


def specific(findings: Sequence[Finding]) -> list[Finding]:
    """Those that aren't true of whole programs."""
    return [each for each in findings if not MECHANISMS[each.key].general]


def _facts(subject: Subject, found: Sequence[Finding]) -> tuple[Finding, ...]:
    """The places that take much of a step, those that take most first, without savings.

    Where a device sets the pace the host's time is spent in waiting for it, and counts least.
    """
    step_ms = subject.check.recorded_ns / NS_PER_MS
    busy = Union.of(*(subject.work[name].to_numpy() for name in ("start_ns", "end_ns")))
    hidden = subject.ms_a_step(busy.total()) >= SETS_THE_PACE * step_ms

    def takes(each: Finding) -> tuple[float, float]:
        host_ms, device_ms = each.host_ms, each.device_ms
        return (device_ms, host_ms) if hidden else (host_ms + device_ms, 0.0)

    much = [each for each in found if max(takes(each)) >= FINDING_AT_LEAST * step_ms]
    return tuple(sorted(much, key=takes, reverse=True))


def _launching_ns(subject: Subject, changes: Sequence[Change]) -> float:
    """The host's time (ns a step) for the launches that changes leave, all like the median one."""
    plan, rows = changed(subject.recording, changes), launches(subject)
    rows = rows[plan.cost_ns[rows] > 0]
    usual_ns = float(np.median((plan.gap_ns + plan.cost_ns)[rows])) if len(rows) else 0.0
    return len(rows) * usual_ns / counted_steps(subject.recording)


def launches(subject: Subject) -> Indices:
    """The rows of the loop's calls that launch device work, of the steps that count."""
    rows = rows_of(subject.own[subject.own["launches"]])
    return rows[rows >= first_counted(subject.recording)]


def _smaller(candidates: Sequence[Finding], step_ms: float) -> tuple[Finding, ...]:
    """The candidates that save less than what is told, but for general ones, largest first."""

    def takes_ms(each: Finding) -> float:
        return each.host_ms + each.device_ms

    small = [
        replace(each, saves_ms=max(each.saves_ms, 0.0))
        for each in specific(candidates)
        if each.saves_ms < FINDING_AT_LEAST * step_ms
        and takes_ms(each) >= SMALLER_AT_LEAST * step_ms
    ]
    return tuple(sorted(small, key=lambda each: (-each.saves_ms, -takes_ms(each))))


def _saved_ns(
    subject: Subject, found: Sequence[Finding], host: Sequence[Change], step_ns: float
) -> float:
    """What a step saves without some places: at most what they take.

    More would be an effect of where the recording begins and ends.
    """
    edits = [edit for each in found for edit in each.edits]
    takes_ns = sum(each.host_ms + each.device_ms for each in found) * NS_PER_MS
    # The host's own time is scaled last, so that it is scaled of what is left.
    return min(step_ns - subject.step_with(*edits, *host), takes_ns)


def _ranked(
    subject: Subject, candidates: Sequence[Finding], host: Sequence[Change], step_ns: float
) -> tuple[Finding, ...]:
    """The candidates that save enough, alone and beside those that save more."""
    findings: list[Finding] = []
    saved = 0.0
    worth = [each for each in candidates if each.saves_ms * NS_PER_MS >= FINDING_AT_LEAST * step_ns]
    for each in sorted(worth, key=lambda each: (MECHANISMS[each.key].general, -each.saves_ms)):
        together = _saved_ns(subject, [*findings, each], host, step_ns)
        if together - saved >= FINDING_OF_ITS_OWN * each.saves_ms * NS_PER_MS:
            saved = together
            findings.append(replace(each, saves_with_above_ms=together / NS_PER_MS))
    return tuple(findings)
