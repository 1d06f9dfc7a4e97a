"""Two runs in a sentence."""

from enum import StrEnum

from workflow_src.common import words
from workflow_src.compare.change import DEVICE_BEYOND, Change, PhaseChange
from workflow_src.compare.change import Verdict as OfPhase
from workflow_src.compare.result import Comparison, near_one
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Value


class Verdict(StrEnum):
    """The verdicts on two runs, each with its sentence."""

    SLOWER = (
        "B is slower than A in {slower} of {phases} phases, most in {case}, {phase}: {kind} "
        "{ratio}. The kernel that adds most time there: {kernel}."
    )
    FASTER = (
        "B is slower nowhere, and faster in {faster} of {phases} phases, most in {case}, {phase}: "
        "{kind} {ratio}."
    )
    SAME = (
        "No difference shown between A and B in {same} of {phases} phases: device work within "
        "{device}, plain time within {threshold}."
    )
    SAME_WORK = (
        "No difference shown in the device's work within {device}, in {same} of {phases} phases. "
        "Plain time can't be told in {open} of them."
    )
    CANT_TELL = (
        "Can't tell whether B is slower than A: nothing decides in {unknown} of {phases} phases, "
        "and {lost} ran in A alone."
    )
    NOTHING = "Can't tell: no phase of a case has a time in both runs."


def headline(found: Comparison) -> Headline:
    """The verdict on two runs, with its numbers."""
    verdict = _verdict(found)
    most = _most(found, verdict)
    slots: dict[str, Cell] = {
        "phases": len(found.phases),
        "slower": len(found.of(OfPhase.SLOWER)),
        "faster": len(found.of(OfPhase.FASTER)),
        "same": len(found.of(OfPhase.SAME)),
        "unknown": len(found.of(OfPhase.UNKNOWN)),
        "open": _open(found),
        "lost": len(found.lost),
        "device": Value(max(DEVICE_BEYOND, found.threshold), "share", ()),
        "threshold": Value(found.threshold, "share", ()),
        "case": most.case.case if most else None,
        "phase": words.PHASES_IN_PROSE[most.phase] if most else None,
        "kind": most.decisive.kind if most and most.decisive else None,
        "ratio": near_one(most.decisive.ratio) if most and most.decisive else None,
        "kernel": _kernel(found, most),
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(found: Comparison) -> Verdict:
    if not found.phases:
        return Verdict.NOTHING
    if found.of(OfPhase.SLOWER):
        return Verdict.SLOWER
    if found.of(OfPhase.UNKNOWN) or found.lost:
        return Verdict.CANT_TELL
    if found.of(OfPhase.FASTER):
        return Verdict.FASTER
    return Verdict.SAME_WORK if _open(found) else Verdict.SAME


def _open(found: Comparison) -> int:
    """In how many phases nothing can be told of plain time."""
    return sum(
        each.plain is not None and each.plain.verdict is OfPhase.UNKNOWN for each in found.phases
    )


def _most(found: Comparison, verdict: Verdict) -> PhaseChange | None:
    """The phase that is slower, or faster, by most."""
    of = {Verdict.SLOWER: OfPhase.SLOWER, Verdict.FASTER: OfPhase.FASTER}.get(verdict)
    phases = found.of(of) if of else ()
    sign = 1 if of is OfPhase.SLOWER else -1
    return max(phases, key=lambda each: sign * _ratio(each.decisive), default=None)


def _ratio(change: Change | None) -> float:
    return change.ratio if change else 1.0


def _kernel(found: Comparison, phase: PhaseChange | None) -> str | None:
    """The kernel that takes most more time in B in a phase."""
    mine = [
        each
        for each in found.kernels
        if phase and (each.case, each.phase) == (phase.case, phase.phase) and each.change_ms > 0
    ]
    return mine[0].short_name if mine else None
