"""One capture in some sentences: where its device time lies, what waits, and what wasn't read."""

from collections.abc import Mapping
from enum import StrEnum

from workflow_src.capture_report.result import Captured
from workflow_src.placing.steps import REPEATED
from workflow_src.render.show import Headline
from workflow_src.render.value import Cell

BUSY = 0.9
"""The share of steps from which on devices are busy."""

WAITS = 0.05
"""The share of a process's device time from which on its waiting for others is worth a sentence."""


class Verdict(StrEnum):
    """How much of the device time lies in ranges, and where most of it."""

    PLACED = (
        "All {total} ms of {takes} lie in ranges. The one with the most of its own is {path}, "
        "with {most}."
    )
    PARTLY = (
        "Of {total} ms of {takes} {share} lie in ranges; what doesn't is listed with its "
        "reason. The range with the most of its own is {path}, with {most}."
    )
    NO_RANGES = (
        "The capture has no range that counts, so its {total} ms of {takes} are one row, and no "
        "steps are told apart. docs/captures.md says how to capture with ranges."
    )
    UNPLACED = "None of the {total} ms of {takes} lies in a range; the reasons are listed."
    NOTHING = "The capture holds no device work that could be read."
    UNREADABLE = "This capture could not be read: {problem}."


class More(StrEnum):
    """What else stands at the top, where it is so."""

    NO_KERNELS = (
        "Calls launched work, but the file has no kernels: capture again with "
        "`--trace=cuda-sw,nvtx`."
    )
    CUT = "The file ends in the middle, so what came later is missing here."
    WORKING = (
        "In its steps, devices work for {working} of the time; most of the rest is idle time "
        "of the cause {cause}: {idle} of the time."
    )
    BUSY = "In its steps, devices work for {working} of the time."
    NO_STEPS = (
        "No steps were found, so idle time isn't told: no outermost range with nearly all device "
        "work repeats {repeats} times, by one name or by numbered ones. The setting `capture_step` "
        "names the range that is a step."
    )
    NOT_NAMED = "No range that counts has the name {named}, which `capture_step` gives."
    WAITS = (
        "Process {process} waits for others in collectives for {waits} ms, {of_device} of its "
        "device time. All tables but the one that compares processes count waiting as device time."
    )


def headlines(found: Captured) -> tuple[Headline, ...]:
    """The verdicts on a capture, with their numbers."""
    slots = _slots(found)
    verdicts = (_verdict(found), *_more(found))
    return tuple(Headline(verdict, verdict.value, slots) for verdict in verdicts)


def _slots(found: Captured) -> Mapping[str, Cell]:
    leader, working, waiting = found.leader, found.working, found.waiting
    return {
        "problem": found.problem,
        "total": found.total,
        "takes": found.takes,
        "share": found.share,
        "path": leader.path if leader else None,
        "most": leader.share if leader else None,
        "named": found.named,
        "repeats": str(REPEATED),
        "working": working.share if working else None,
        "cause": working.cause if working else None,
        "idle": working.idle if working else None,
        "process": waiting.process if waiting else None,
        "waits": waiting.ms if waiting else None,
        "of_device": waiting.share if waiting else None,
    }


def _verdict(found: Captured) -> Verdict:
    if found.problem:
        return Verdict.UNREADABLE
    if not found.total.number:
        return Verdict.NOTHING
    if not found.placed.number or found.leader is None:
        return Verdict.UNPLACED
    if found.whole:
        return Verdict.NO_RANGES
    return Verdict.PARTLY if found.unplaced.number else Verdict.PLACED


def _more(found: Captured) -> list[More]:
    working, waiting = found.working, found.waiting
    placed = _verdict(found) in (Verdict.PLACED, Verdict.PARTLY)
    busy = working is not None and (working.cause is None or working.share.number >= BUSY)
    said = {
        More.NO_KERNELS: found.no_kernels,
        More.CUT: found.cut,
        More.NOT_NAMED: found.named is not None,
        More.NO_STEPS: placed and working is None and found.named is None,
        More.BUSY: busy,
        More.WORKING: working is not None and not busy,
        More.WAITS: waiting is not None and waiting.share.number >= WAITS,
    }
    return [each for each, holds in said.items() if holds]
