"""The precision study in a sentence: where bf16 autocast saves time."""

from enum import StrEnum

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW_NS
from workflow_src.common.units import NS_PER_US
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Value
from workflow_src.studies.precision.result import Precision


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    WHERE_LONG = (
        "bf16 autocast is faster than full precision in these comparisons: {gains}; at best {best} "
        "({where}). Where it is slower, it is launch-bound: the device takes at most {longest} us "
        "per kernel."
    )
    GAINS = (
        "bf16 autocast is faster than full precision in these comparisons: {gains}; at best {best} "
        "({where})."
    )
    NO_GAIN = (
        "bf16 autocast saves no time: at best it is {best} as fast as full precision ({where})."
    )
    CANT_TELL = (
        "No model was timed both in full precision and under bf16 autocast, so what that saves "
        "can't be told."
    )


def headline(result: Precision) -> Headline:
    """The verdict on a result, with its numbers."""
    best, verdict = result.best, _verdict(result)
    slots = {
        "best": best and best.speedup,
        "where": best and best.name,
        "gains": result.gains,
        "longest": longest_of_losses(result),
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(result: Precision) -> Verdict:
    if result.best is None:
        return Verdict.CANT_TELL
    if not result.gained:
        return Verdict.NO_GAIN
    longest, limit_us = longest_of_losses(result), LAUNCH_BOUND_BELOW_NS / NS_PER_US
    return Verdict.WHERE_LONG if longest and longest.number < limit_us else Verdict.GAINS


def longest_of_losses(result: Precision) -> Value | None:
    """The most device time per kernel of a step that loses; None if one isn't known."""
    every = [us for pair in result.lost if (us := pair.kernel_us)]
    known = len(every) == len(result.lost)
    return max(every, key=lambda us: us.number, default=None) if known else None
