"""What is wrong with a step, and what it costs: every mechanism's places, replayed without them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from workflow_src.common.intervals import Indices
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis import mechanisms as _registered  # noqa: F401
from workflow_src.diagnosis.changes import Change, DropGap, Plan
from workflow_src.diagnosis.finding import MECHANISMS, Finding, Found, Subject, example_of
from workflow_src.diagnosis.plain import WITHOUT_PROFILER, plain
from workflow_src.diagnosis.recording import Recording
from workflow_src.diagnosis.replay import Bounds, bounds

LEAST = 0.03
"""The share of a step below which a saving isn't told."""

CONTAINED = 0.25
"""A finding that saves less than this share of its own saving, beside those above it, is part of
them."""


@dataclass(frozen=True)
class Diagnosis:
    """The findings, those that save most first; general ones, true of whole programs, last.

    step_ms: the step's time that savings are of: the plain one if it is known. understood: whether
    the model takes the recorded time; if not, nothing is said of savings. bounds: the step's time
    (ns) if the device, or the host, took none.
    """

    findings: tuple[Finding, ...]
    step_ms: float
    understood: bool
    bounds: Bounds


@dataclass(frozen=True)
class _Candidate:
    key: str
    general: bool
    found: Found
    saves_ns: float


def diagnose(subject: Subject, plain_ns: float | None = None) -> Diagnosis:
    """The findings of a subject; plain_ns: the time of a step without a profiler, if known.

    Raises TraceError if plain_ns can't be the time of this program's steps.
    """
    recording = subject.recording
    places = [(each, found) for each in MECHANISMS.values() for found in each.find(subject)]
    if not subject.check.understood:
        facts = [
            Finding(each.key, found, nan, nan, example_of(subject, found)) for each, found in places
        ]
        facts.sort(key=lambda fact: -(fact.place.host_ms + fact.place.device_ms))
        step_ms = subject.step_ns / NS_PER_MS
        return Diagnosis(tuple(facts), step_ms, False, subject.bounds)
    running_ns = _running_ns(recording, [found for _, found in places])
    slowest = WITHOUT_PROFILER.get(subject.attributed.capture.recording.profiler, 1.0)
    host = [] if plain_ns is None else [plain(recording, plain_ns, running_ns, slowest)]
    step_ns = subject.step_with(*host)
    candidates = [
        _Candidate(
            each.key, each.general, found, step_ns - subject.step_with(*found.changes, *host)
        )
        for each, found in places
    ]
    ranked = _ranked(subject, candidates, host, step_ns)
    alone = bounds(recording, host) if host else subject.bounds
    return Diagnosis(ranked, step_ns / NS_PER_MS, True, alone)


def _running_ns(recording: Recording, places: Sequence[Found]) -> Indices:
    """Of each gap of the host the time in which it ran, as far as findings tell."""
    plan = Plan.of(recording)
    for change in (each for found in places for each in found.changes):
        if isinstance(change, DropGap) and change.held:
            change.apply(plan)
    return plan.gap_ns


def _ranked(
    subject: Subject, candidates: Sequence[_Candidate], host: Sequence[Change], step_ns: float
) -> tuple[Finding, ...]:
    """The candidates that save enough, alone and beside those that save more."""
    findings: list[Finding] = []
    changes: list[Change] = []
    saved = 0.0
    worth = [each for each in candidates if each.saves_ns >= LEAST * step_ns]
    for each in sorted(worth, key=lambda each: (each.general, -each.saves_ns)):
        # The host's own time is scaled last, so that it is scaled of what is left.
        together = step_ns - subject.step_with(*changes, *each.found.changes, *host)
        if together - saved < CONTAINED * each.saves_ns:
            continue
        changes += each.found.changes
        saved = together
        ms = each.saves_ns / NS_PER_MS, together / NS_PER_MS
        findings.append(Finding(each.key, each.found, *ms, example_of(subject, each.found)))
    return tuple(findings)
