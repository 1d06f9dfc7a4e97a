"""One capture in a sentence: how much of its device time lies in ranges, and where most of it."""

from enum import StrEnum

from workflow_src.captures.result import Captured
from workflow_src.render.show import Headline
from workflow_src.render.value import Cell


class Verdict(StrEnum):
    """The verdicts, each with its sentences."""

    PLACED = (
        "All {total} ms of device time lie in ranges. The one with the most of its own is {path}, "
        "with {most}."
    )
    PARTLY = (
        "Of {total} ms of device time {share} lie in ranges; what doesn't is listed with its "
        "reason. The range with the most of its own is {path}, with {most}."
    )
    NO_RANGES = (
        "The capture has no range that counts, so its {total} ms of device time are one row."
    )
    UNPLACED = "None of the {total} ms of device time lies in a range; the reasons are listed."
    NOTHING = "The capture holds no device work."
    UNREADABLE = "This capture could not be read: {problem}."


def headline(found: Captured) -> Headline:
    """The verdict on a capture, with its numbers."""
    leader = found.leader
    slots: dict[str, Cell] = {
        "problem": found.problem,
        "total": found.total,
        "share": found.share,
        "path": leader.path if leader else None,
        "most": leader.share if leader else None,
    }
    verdict = _verdict(found)
    return Headline(verdict, verdict.value, slots)


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
