"""Study levers in two sentences: what pays, and whether it was foretold."""

from enum import StrEnum

from workflow_src.paper.show import Headline
from workflow_src.paper.value import Joined
from workflow_src.studies.levers.result import Levers
from workflow_src.studies.lines import spread

MOSTLY = 0.9
"""Intervals of 95 % are borne out if this share of the times lies inside: of twenty, one or two may
not."""


class Verdict(StrEnum):
    """The verdicts, each with its sentences."""

    FORETOLD = (
        "By medians, {first} saves most alone; at best a step is {saved} shorter. {inside} of "
        "{judged} times lie in their predicted 95 % interval, of a median width of {width} of the "
        "plain step."
    )
    MISSED = (
        "By medians, {first} saves most alone; at best a step is {saved} shorter. Only {inside} of "
        "{judged} times lie in their predicted 95 % interval, of a median width of {width} of the "
        "plain step."
    )
    UNPREDICTED = (
        "By medians, {first} saves most alone; at best a step is {saved} shorter. No step has both "
        "a time and a prediction."
    )
    NOTHING = "No remedy alone is shown to save 3 % of a plain training step or more."
    CANT_TELL = "That can't be told: no plain training step was measured beside one with a remedy."


def headline(result: Levers) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict = _verdict(result)
    first = dict.fromkeys(case.first.words for case in result.cases if case.first)
    slots = {
        "first": Joined(tuple(first), by=" or "),
        "saved": spread(case.least.saved for case in result.cases if case.first and case.least),
        "inside": result.inside,
        "judged": result.judged,
        "width": result.width,
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(result: Levers) -> Verdict:
    if not any(each.saved for case in result.cases for each in case.steps):
        return Verdict.CANT_TELL
    if not any(case.first for case in result.cases):
        return Verdict.NOTHING
    judged = result.judged.number
    if not judged:
        return Verdict.UNPREDICTED
    return Verdict.FORETOLD if result.inside.number >= MOSTLY * judged else Verdict.MISSED
