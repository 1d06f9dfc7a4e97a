"""The fusion study in a sentence: whether one kernel pays against one per step of a formula."""

from enum import StrEnum

from workflow_src.paper.show import Headline
from workflow_src.studies.fusion.result import SAME_WITHIN, Fusion


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    PAYS = "One kernel ({kernel}) is faster than one per step of the formula, by {gains}."
    PARTLY = (
        "One kernel ({kernel}) isn't always faster than one per step of the formula; times as "
        "fast: {gains}."
    )
    DOESNT = (
        "One kernel ({kernel}) isn't faster than one per step of the formula; times as fast: "
        "{gains}."
    )
    CANT_TELL = (
        "No operation was measured both written out and as one kernel, so what that gains can't "
        "be told."
    )


def headline(result: Fusion) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict = _verdict([speedup.number for speedup in result.speedups])
    return Headline(verdict, verdict.value, {"kernel": result.kernel, "gains": result.gains})


def _verdict(speedups: list[float]) -> Verdict:
    if not speedups:
        return Verdict.CANT_TELL
    if min(speedups) > 1 + SAME_WITHIN:
        return Verdict.PAYS
    return Verdict.PARTLY if max(speedups) > 1 + SAME_WITHIN else Verdict.DOESNT
