"""The precision study in a sentence: where bf16 autocast saves time."""

from enum import StrEnum

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.render.show import Headline
from workflow_src.render.value import Value
from workflow_src.studies.precision.result import Precision


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    WHERE_BUSY = (
        "bf16 autocast is faster than full precision in these comparisons: {gains}; at best {best} "
        "({where}). Where it is slower, the device works for at most {busy} of its step."
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
        "busy": busiest_loss(result),
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(result: Precision) -> Verdict:
    if result.best is None:
        return Verdict.CANT_TELL
    if not result.gained:
        return Verdict.NO_GAIN
    busy = busiest_loss(result)
    return Verdict.WHERE_BUSY if busy and busy.number < LAUNCH_BOUND_BELOW else Verdict.GAINS


def busiest_loss(result: Precision) -> Value | None:
    """The largest share of a step that loses in which the device works; None if one isn't known."""
    shares = [share for pair in result.lost if (share := pair.busy)]
    known = len(shares) == len(result.lost)
    return max(shares, key=lambda share: share.number, default=None) if known else None
