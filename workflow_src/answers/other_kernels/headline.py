"""(c) in a sentence: how much of the forward pass isn't matrix products, and where it is."""

from enum import StrEnum

from workflow_src.answers.other_kernels.result import OtherKernels
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined


class Verdict(StrEnum):
    """The verdicts of (c), each with its sentence."""

    MOST = (
        "Kernels other than matrix products take over half of the forward pass's device time in "
        "{over} cases (medians: {medians}). Their largest part is {leader} in {leads}."
    )
    LESS = (
        "Matrix products take half of the forward pass's device time or more in {all} of {all} "
        "cases; all else takes, in medians: {medians}. Its largest part is {leader} in {leads}."
    )
    NOTHING = "Matrix products take all device time of the forward pass, in {all} of {all} cases."
    DISTURBED = (
        "Each capture of a forward pass was disturbed, so what its parts take can't be told; the "
        "table shows what was captured."
    )
    CANT_TELL = "No device time of a forward pass was measured, so its parts can't be told."


def headline(result: OtherKernels) -> Headline:
    """The verdict on a result, with its numbers."""
    medians = (Joined((name, each), by=" ") for name, each in result.medians.items())
    slots: dict[str, Cell] = {
        "over": result.over_half.cell,
        "all": result.over_half.of,
        "medians": Joined(tuple(medians), by=", "),
        "leader": result.leader,
        "leads": result.leads.cell,
    }
    verdict = _verdict(result)
    return Headline(verdict, verdict.value, slots)


def _verdict(result: OtherKernels) -> Verdict:
    if not result.over_half.of.number:
        return Verdict.DISTURBED if result.only_disturbed else Verdict.CANT_TELL
    if not result.leader:
        return Verdict.NOTHING
    return Verdict.MOST if result.over_half.holds.number else Verdict.LESS
