"""(a) in a sentence: whether the profiler's time is the plain one, and where."""

from enum import StrEnum

from workflow_src.answers.forward_time.result import ForwardTime
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, count

CLEARLY_MORE = 0.5
"""Agreement depends on the kernels if it is more frequent among long ones by this share."""


class Verdict(StrEnum):
    """The verdicts of (a), each with its sentence."""

    EVERYWHERE = (
        "The profiled time is the plain one, within 10 %, wherever both were measured: in {agree} "
        "of {compared}."
    )
    WHERE_LONG = (
        "They agree more often where kernels are long: within 10 % in {long_agree} of {long} cases "
        "of {limit} us per launch or more ({origin}), and in {bound_agree} of {bound} others. "
        "Untold, as processes differ: {untold}. Of all, {alone} have one process."
    )
    PARTLY = "They agree within 10 % in {agree} of {compared}; the table shows where."
    NOWHERE = "They don't agree: within 10 % in {agree} of {compared}."
    IN_DOUBT = (
        "Of no case that has both times can be told whether they agree: other work disturbed one, "
        "or processes differ too much."
    )
    CANT_TELL = "No case has both times, so whether they agree can't be told."


def headline(result: ForwardTime) -> Headline:
    """The verdict on a result, with its numbers."""
    every, long, bound = result.every, result.long, result.bound
    lone = (each.plain for each in result.cases if each.processes == 1)
    slots: dict[str, Cell] = {
        "alone": count(lone, "cases of one process"),
        "agree": every.holds,
        "compared": every.of,
        "limit": result.limit.told,
        "origin": result.limit.origin,
        "untold": result.untold,
        "long_agree": long.holds,
        "long": long.of,
        "bound_agree": bound.holds,
        "bound": bound.of,
    }
    verdict = _verdict(result)
    return Headline(verdict, verdict.value, slots)


def _verdict(result: ForwardTime) -> Verdict:
    every, long, bound = result.every, result.long, result.bound
    if not every.of.number:
        both = any(each.plain and each.profiled for each in result.cases)
        return Verdict.IN_DOUBT if both else Verdict.CANT_TELL
    if every.share == 1:
        return Verdict.EVERYWHERE
    if every.share == 0:
        return Verdict.NOWHERE
    return (
        Verdict.WHERE_LONG
        if long.share - bound.share >= CLEARLY_MORE and bound.of.number
        else Verdict.PARTLY
    )
