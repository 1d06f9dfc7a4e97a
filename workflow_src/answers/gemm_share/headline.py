"""(d) in a sentence: how the share of matrix products changes, and what lowers it more."""

from enum import StrEnum

from workflow_src.answers.gemm_share.result import GemmShare
from workflow_src.common.thresholds import MOSTLY
from workflow_src.paper.show import Headline


class Verdict(StrEnum):
    """The verdicts of (d), each with its sentence."""

    FALLS_BY_OPTIMIZER = (
        "Matrix products' share of device time falls from the forward pass to the training step in "
        "{falling} of {compared} cases, by over 1 point. In {by_optimizer} of these the optimizer "
        "lowers it more than backward does."
    )
    FALLS_BY_OPTIMIZER_WHERE_KNOWN = (
        "Matrix products' share of device time falls from the forward pass to the training step in "
        "{falling} of {compared} cases, by over 1 point. Of the {known} of these with a range for "
        "each, the optimizer lowers it more than backward does in {by_optimizer}."
    )
    FALLS_BY_BACKWARD = (
        "Matrix products' share of device time falls from the forward pass to the training step in "
        "{falling} of {compared} cases, by over 1 point. In {by_backward} of these backward lowers "
        "it more than the optimizer does."
    )
    FALLS_BY_BACKWARD_WHERE_KNOWN = (
        "Matrix products' share of device time falls from the forward pass to the training step in "
        "{falling} of {compared} cases, by over 1 point. Of the {known} of these with a range for "
        "each, backward lowers it more than the optimizer does in {by_backward}."
    )
    FALLS = (
        "Matrix products' share of device time falls from the forward pass to the training step in "
        "{falling} of {compared} cases, by over 1 point. The optimizer lowers it more in "
        "{by_optimizer} of them, backward in {by_backward}."
    )
    DEPENDS = (
        "From the forward pass to the training step, matrix products' share of device time falls "
        "in {falling} of {compared} cases, rises in {rising}, and is the same within 1 point in "
        "the others."
    )
    RISES_OR_SAME = (
        "Matrix products' share of device time doesn't fall from the forward pass to the training "
        "step: it rises in {rising} of {compared} cases, and is the same within 1 point in the "
        "others."
    )
    DISTURBED = (
        "Each case that has both a forward pass and a training step under the profiler was "
        "disturbed, so how the share of matrix products changes can't be told; the table shows "
        "what was captured."
    )
    CANT_TELL = (
        "No case has both a forward pass and a training step under the profiler, so how the share "
        "of matrix products changes can't be told."
    )


LOWERS_IT = {
    (True, True): Verdict.FALLS_BY_OPTIMIZER,
    (True, False): Verdict.FALLS_BY_OPTIMIZER_WHERE_KNOWN,
    (False, True): Verdict.FALLS_BY_BACKWARD,
    (False, False): Verdict.FALLS_BY_BACKWARD_WHERE_KNOWN,
}
"""By whether the optimizer does mostly, and whether each case whose share falls tells."""


def headline(result: GemmShare) -> Headline:
    """The verdict on a result, with its numbers."""
    slots = {
        "falling": result.falling,
        "rising": result.rising,
        "compared": result.compared,
        "by_optimizer": result.by_optimizer,
        "by_backward": result.by_backward,
        "known": result.known,
    }
    verdict = _verdict(result)
    return Headline(verdict, verdict.value, slots)


def _verdict(result: GemmShare) -> Verdict:
    compared, falling = result.compared.number, result.falling.number
    known, by_optimizer = result.known.number, result.by_optimizer.number
    if not compared:
        return Verdict.DISTURBED if result.only_disturbed else Verdict.CANT_TELL
    if not falling:
        return Verdict.RISES_OR_SAME
    if falling < MOSTLY * compared:
        return Verdict.DEPENDS
    if not known or (1 - MOSTLY) * known < by_optimizer < MOSTLY * known:
        return Verdict.FALLS
    return LOWERS_IT[by_optimizer > known / 2, known == falling]
