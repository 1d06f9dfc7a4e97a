"""(b) in a sentence: what the forward pass's top kernel does, and in how many cases backward's."""

from enum import StrEnum

from workflow_src.answers.top_kernel.result import Leader, TopKernels
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined


class Verdict(StrEnum):
    """The verdicts of (b), each with its sentence."""

    ONE_KIND = (
        "By device time, the forward pass's top kernel is of one kind in {cases} cases: {what}. "
        "Backward's top kernel has the same whole name in {same}."
    )
    BY_PRECISION = (
        "By device time, the forward pass's top kernel is most often: {leaders}. Backward's has "
        "the same whole name in {same} cases."
    )
    MIXED = (
        "By device time, the forward pass's top kernel differs between cases; most often, in "
        "{cases}, it is of one kind: {what}. Backward's top kernel has the same whole name in "
        "{same}."
    )
    FORWARD_ALONE = (
        "By device time, the forward pass's top kernel is most often: {leaders}. No case has a "
        "backward to compare it with."
    )
    CANT_TELL = "No device time of a forward pass was measured, so no kernel can be named."


def headline(result: TopKernels) -> Headline:
    """The verdict on a result, with its numbers."""
    leaders = tuple(_of(name, each) for name, each in result.leaders.items())
    slots: dict[str, Cell] = {
        "what": result.leader.what if result.leader else None,
        "cases": result.leader.cases.cell if result.leader else None,
        "leaders": Joined(leaders, by=", "),
        "same": result.same.cell,
    }
    verdict = _verdict(result)
    return Headline(verdict, verdict.value, slots)


def _of(precision: str, leader: Leader) -> Cell:
    """What leads in a precision: "cast to bf16 in bf16 (13 of 20)"."""
    told = Joined((leader.what, precision), by=" in ")
    return Joined((told, Joined(("(", leader.cases.cell, ")"), by="")), by=" ")


def _verdict(result: TopKernels) -> Verdict:
    if result.leader is None:
        return Verdict.CANT_TELL
    if not result.same.of.number:
        return Verdict.FORWARD_ALONE
    if result.leader.cases.always:
        return Verdict.ONE_KIND
    kinds = {each.what for each in result.leaders.values()}
    return Verdict.BY_PRECISION if len(kinds) > 1 else Verdict.MIXED
