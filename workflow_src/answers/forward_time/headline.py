"""(a) in a sentence: whether the profiler's time is the plain one, and where."""

from enum import StrEnum

from workflow_src.answers.forward_time.result import ForwardTime
from workflow_src.render.show import Headline

CLEARLY_MORE = 0.5
"""Agreement depends on the device's work if it is more frequent among busy cases by this share."""


class Verdict(StrEnum):
    """The verdicts of (a), each with its sentence."""

    EVERYWHERE = (
        "The profiled time is the plain one, within 10 %, wherever both were measured: in {agree} "
        "of {compared}."
    )
    WHERE_BUSY = (
        "They agree more often where the device is busy: within 10 % in {busy_agree} of {busy} "
        "cases in which it works for 80 % of the plain time or more, and in {idle_agree} of {idle} "
        "others."
    )
    PARTLY = "They agree within 10 % in {agree} of {compared}; the table shows where."
    NOWHERE = "They don't agree: within 10 % in {agree} of {compared}."
    IN_DOUBT = (
        "Of each case that has both times, other work disturbed one, so whether they agree can't "
        "be told."
    )
    CANT_TELL = "No case has both times, so whether they agree can't be told."


def headline(result: ForwardTime) -> Headline:
    """The verdict on a result, with its numbers."""
    every, busy, idle = result.every, result.busy, result.often_idle
    slots = {
        "agree": every.holds,
        "compared": every.of,
        "busy_agree": busy.holds,
        "busy": busy.of,
        "idle_agree": idle.holds,
        "idle": idle.of,
    }
    verdict = _verdict(result)
    return Headline(verdict, verdict.value, slots)


def _verdict(result: ForwardTime) -> Verdict:
    every, busy, idle = result.every, result.busy, result.often_idle
    if not every.of.number:
        both = any(each.plain and each.profiled for each in result.cases)
        return Verdict.IN_DOUBT if both else Verdict.CANT_TELL
    if every.share == 1:
        return Verdict.EVERYWHERE
    if every.share == 0:
        return Verdict.NOWHERE
    return (
        Verdict.WHERE_BUSY
        if busy.share - idle.share >= CLEARLY_MORE and idle.of.number
        else Verdict.PARTLY
    )
