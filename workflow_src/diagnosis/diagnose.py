"""What is wrong with a step, and what it costs: every mechanism's places, replayed without them."""

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
from workflow_src.diagnosis.cost import counted_steps, first_counted, with_cost
from workflow_src.diagnosis.edit import Change, Plan
from workflow_src.diagnosis.examples import between_of, example_of
from workflow_src.diagnosis.finding import (
    MECHANISMS,
    Finding,
    Found,
    Subject,
    rows_of,
)
from workflow_src.diagnosis.plain import UNKNOWN, WITHOUT_PROFILER, plain
from workflow_src.diagnosis.recording import Recording
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
    alone = diagnosis.bounds
    least_ns = SETS_THE_PACE * diagnosis.step_ms * NS_PER_MS
    paces = {
        (True, False): Pace.HOST,
        (False, True): Pace.DEVICE,
        (True, True): Pace.BOTH,
        (False, False): Pace.IN_TURN,
    }
    return paces[alone.host_ns >= least_ns, alone.device_ns >= least_ns]


def diagnose(subject: Subject, plain_ns: float | None = None) -> Diagnosis:
    """The findings of a subject; plain_ns: the time of a step without a profiler, if known.

    Raises TraceError if plain_ns can't be the time of this program's steps.
    """
    recording = subject.recording
    places = [
        (each, with_cost(subject, found))
        for each in MECHANISMS.values()
        for found in each.find(subject)
    ]
    if not subject.check.understood:
        facts = [_finding(subject, each.key, found) for each, found in places]
        unknown = Bounds(nan, nan)
        return Diagnosis(_ordered(subject, facts), nan, False, unknown, unknown)
    running_ns = _running_ns(recording, [found for _, found in places])
    share = WITHOUT_PROFILER.get(subject.attributed.capture.recording.profiler, UNKNOWN)
    host = [] if plain_ns is None else [plain(recording, plain_ns, running_ns, share)]
    step_ns = subject.step_with(*host)
    candidates = [
        _finding(subject, each.key, found, _saved_ns(subject, [found], host, step_ns))
        for each, found in places
    ]
    ranked = _ranked(subject, candidates, host, step_ns)
    alone = bounds(recording, host) if host else subject.bounds
    named = [each for found in specific(ranked) for each in found.place.changes]
    left = bounds(recording, [*named, *host]) if named else alone
    launching_ns = _launching_ns(subject, [*named, *host])
    smaller = _smaller(candidates, step_ns / NS_PER_MS)
    return Diagnosis(ranked, step_ns / NS_PER_MS, True, alone, left, launching_ns, smaller)


def specific(findings: Sequence[Finding]) -> list[Finding]:
    """Those that aren't true of whole programs."""
    return [each for each in findings if not MECHANISMS[each.key].general]


def _ordered(subject: Subject, facts: Sequence[Finding]) -> tuple[Finding, ...]:
    """The facts that take much of a step, those that take most first.

    Where a device sets the pace the host's time is spent in waiting for it, and counts least.
    """
    step_ms = subject.check.recorded_ns / NS_PER_MS
    times = (subject.work[name].to_numpy() for name in ("start_ns", "end_ns"))
    busy_ms = subject.ms_a_step(Union.of(*times).total())
    hidden = busy_ms >= SETS_THE_PACE * step_ms

    def takes(fact: Finding) -> tuple[float, float]:
        host_ms, device_ms = fact.place.host_ms, fact.place.device_ms
        return (device_ms, host_ms) if hidden else (host_ms + device_ms, 0.0)

    much = [each for each in facts if max(takes(each)) >= FINDING_AT_LEAST * step_ms]
    return tuple(sorted(much, key=takes, reverse=True))


def _running_ns(recording: Recording, places: Sequence[Found]) -> Indices:
    """Of each gap of the host the time in which it ran, as far as findings tell."""
    plan = Plan.of(recording)
    for change in (each for found in places for each in found.changes):
        if change.held:
            change.apply(plan)
    return plan.gap_ns


def _launching_ns(subject: Subject, changes: Sequence[Change]) -> float:
    """The host's time (ns a step) for the launches that changes leave, all like the median one."""
    plan, rows = changed(subject.recording, changes), launches(subject)
    rows = rows[plan.cost_ns[rows] > 0]
    usual_ns = float(np.median((plan.gap_ns + plan.cost_ns)[rows])) if len(rows) else 0.0
    return len(rows) * usual_ns / counted_steps(subject.recording)


def launches(subject: Subject) -> Indices:
    """The rows of the loop's calls that launch device work, of the steps that count."""
    rows = rows_of(subject.own[subject.own.index.isin(subject.work["call"])])
    return rows[rows >= first_counted(subject.recording)]


def _smaller(candidates: Sequence[Finding], step_ms: float) -> tuple[Finding, ...]:
    """The candidates that save less than what is told, but for general ones, largest first."""

    def takes_ms(each: Finding) -> float:
        return each.place.host_ms + each.place.device_ms

    small = [
        replace(each, saves_ms=max(each.saves_ms, 0.0))
        for each in specific(candidates)
        if each.saves_ms < FINDING_AT_LEAST * step_ms
        and takes_ms(each) >= SMALLER_AT_LEAST * step_ms
    ]
    return tuple(sorted(small, key=lambda each: (-each.saves_ms, -takes_ms(each))))


def _finding(subject: Subject, key: str, found: Found, saves_ns: float = nan) -> Finding:
    """A place with what it saves and what shows it."""
    shown = example_of(subject, key, found), between_of(subject, found)
    return Finding(key, found, saves_ns / NS_PER_MS, nan, *shown)


def _saved_ns(
    subject: Subject, places: Sequence[Found], host: Sequence[Change], step_ns: float
) -> float:
    """What a step saves without some places: at most what they take.

    More would be an effect of where the recording begins and ends.
    """
    changes = [change for each in places for change in each.changes]
    takes_ns = sum(each.host_ms + each.device_ms for each in places) * NS_PER_MS
    # The host's own time is scaled last, so that it is scaled of what is left.
    return min(step_ns - subject.step_with(*changes, *host), takes_ns)


def _ranked(
    subject: Subject, candidates: Sequence[Finding], host: Sequence[Change], step_ns: float
) -> tuple[Finding, ...]:
    """The candidates that save enough, alone and beside those that save more."""
    findings: list[Finding] = []
    saved = 0.0
    worth = [each for each in candidates if each.saves_ms * NS_PER_MS >= FINDING_AT_LEAST * step_ns]
    for each in sorted(worth, key=lambda each: (MECHANISMS[each.key].general, -each.saves_ms)):
        places = [*(above.place for above in findings), each.place]
        together = _saved_ns(subject, places, host, step_ns)
        if together - saved >= FINDING_OF_ITS_OWN * each.saves_ms * NS_PER_MS:
            saved = together
            findings.append(replace(each, saves_with_above_ms=together / NS_PER_MS))
    return tuple(findings)
