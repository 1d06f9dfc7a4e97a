"""(e) in a sentence: whether softmax takes longer than attention's products, and where."""

from enum import StrEnum

from workflow_src.answers.softmax.result import NO_ATTENTION, Softmax
from workflow_src.common.case import ATTENTIONS
from workflow_src.common.thresholds import MOSTLY
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell


class Verdict(StrEnum):
    """The verdicts of (e), each with its sentence."""

    LONGER_BY_PRECISION = (
        "Softmax takes longer than QK^T and AV together in {longer} of {compared} cases: {least} "
        "their time in {least_at} and {most} in {most_at} (medians; FLOPs: {flops})."
    )
    LONGER = (
        "Softmax takes longer than QK^T and AV together in {longer} of {compared} cases: {most} "
        "their time (median; FLOPs: {flops})."
    )
    BY_PRECISION = (
        "Softmax takes {most} the time of QK^T and AV together in {most_at}, and {least} in "
        "{least_at} (medians; FLOPs: {flops})."
    )
    OFTEN_SHORTER = (
        "Softmax takes longer than QK^T and AV together in {longer} of {compared} cases, and more "
        "of their time than of their FLOPs in {more} of {counted}."
    )
    FUSED = (
        "Softmax and attention's matrix products are one kernel wherever they were measured, and "
        "can't be told apart."
    )
    NO_ATTENTION = (
        "No module was found in which a softmax of torch's own stands between two matrix products, "
        "nor ranges called scores, softmax and values, which tell one that is written out."
    )
    CANT_TELL = "No undisturbed case has softmax and attention's matrix products measured apart."


def headline(result: Softmax) -> Headline:
    """The verdict on a result, with its numbers."""
    slots: dict[str, Cell] = {
        "longer": result.longer,
        "compared": result.compared,
        "more": result.more,
        "counted": result.counted,
        "flops": result.flops,
    }
    if result.ratios:
        least, most = _ends(result)
        slots |= {"least_at": least, "least": result.ratios[least]}
        slots |= {"most_at": most, "most": result.ratios[most]}
    verdict = _verdict(result)
    return Headline(verdict, verdict.value, slots)


def _ends(result: Softmax) -> tuple[str, str]:
    """The precisions with the least and the most median ratio of times."""
    ordered = sorted(result.ratios, key=lambda name: result.ratios[name].number)
    return ordered[0], ordered[-1]


def _verdict(result: Softmax) -> Verdict:
    if not result.ratios:
        if any(each.state == "ok" for each in result.cases):
            return Verdict.CANT_TELL
        if result.fused:
            return Verdict.FUSED
        own = all(each.case.attention not in ATTENTIONS for each in result.cases)
        looked = any(each.state in (NO_ATTENTION, "not_told_apart") for each in result.cases)
        return Verdict.NO_ATTENTION if own and looked else Verdict.CANT_TELL
    if result.longer.number >= MOSTLY * result.compared.number:
        return Verdict.LONGER_BY_PRECISION if len(result.ratios) > 1 else Verdict.LONGER
    least, most = (result.ratios[name].number for name in _ends(result))
    return Verdict.BY_PRECISION if least < 1 < most else Verdict.OFTEN_SHORTER
