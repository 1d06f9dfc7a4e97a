"""The warm-up study in a sentence: how many first steps an average must leave out."""

from enum import StrEnum

from workflow_src.paper.show import Headline
from workflow_src.studies.warmup.result import WarmUp, excess, name


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    ALWAYS = (
        "Even with the fewest warm-up steps tried, {fewest}, no mean is over 5 % above a settled "
        "step."
    )
    ENOUGH = (
        "Warm-up steps after which no mean is over 5 % above a settled step: {enough}. With fewer, "
        "one is {worst} above it ({where})."
    )
    NOT_ENOUGH = (
        "After each number of warm-up steps tried, some mean is over 5 % above a settled step: "
        "with {most}, one is {worst} above it ({where})."
    )
    CANT_TELL = "No measured run settles, so how many steps to leave out can't be told."


def headline(result: WarmUp) -> Headline:
    """The verdict on a result, with its numbers."""
    worst, verdict = result.worst, _verdict(result)
    slots = {
        "fewest": result.fewest,
        "enough": result.enough,
        "worst": worst and excess(worst),
        "most": worst and worst.value("warmup_steps", "count"),
        "where": worst and name(worst),
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(result: WarmUp) -> Verdict:
    if result.fewest is None:
        return Verdict.CANT_TELL
    if result.enough is None:
        return Verdict.NOT_ENOUGH
    return Verdict.ENOUGH if result.worst else Verdict.ALWAYS
