"""Study mlp in a sentence: whether a step's time grows as its FLOPs do."""

from enum import StrEnum

from workflow_src.common.thresholds import WAITS_BELOW
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Value
from workflow_src.studies.lines import spread
from workflow_src.studies.mlp.result import Mlp

AS_EXPECTED_WITHIN = 0.25
"""A time follows the FLOPs if it grows as many times as they do within this share: kernels of
other sizes reach rates that differ by as much."""


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    FOLLOWS = (
        "Yes, by about as much: from dim {low} to {high}, {flops} the FLOPs take {step} as long, "
        "and device time is {working} of the step."
    )
    LESS = (
        "By less, from dim {low} to {high}: {flops} the FLOPs take {step} as long, and device time "
        "is {working} of the step."
    )
    MORE = (
        "By more, from dim {low} to {high}: {flops} the FLOPs take {step} as long, and device time "
        "is {working} of the step."
    )
    WAITS = (
        "That can't be told: fewer than two widths keep the device working for {enough} of a step "
        "or more (most: {most}, at dim {dim}), and a step that waits for launches says nothing of "
        "FLOPs."
    )
    CANT_TELL = "That can't be told: fewer than two widths have a time and a device time."


def headline(result: Mlp) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict, growth, most = _verdict(result), result.growth, result.most
    slots = {
        "low": growth.low.dim if growth else None,
        "high": growth.high.dim if growth else None,
        "working": spread([growth.low.working, growth.high.working]) if growth else None,
        "step": growth.step if growth else None,
        "flops": growth.flops if growth else None,
        "enough": Value(WAITS_BELOW, "share", ()),
        "most": most.working if most else None,
        "dim": most.dim if most else None,
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(result: Mlp) -> Verdict:
    followed = result.growth.followed if result.growth else None
    if followed is None:
        measured = sum(width.ms is not None for width in result.widths)
        return Verdict.WAITS if result.most and measured > 1 else Verdict.CANT_TELL
    if followed.number < 1 - AS_EXPECTED_WITHIN:
        return Verdict.LESS
    return Verdict.MORE if followed.number > 1 + AS_EXPECTED_WITHIN else Verdict.FOLLOWS
