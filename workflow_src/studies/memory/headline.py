"""Study memory in a sentence: how right predicted peaks are, and what fits."""

from enum import StrEnum

from workflow_src.paper.show import Headline
from workflow_src.paper.value import Value
from workflow_src.studies.memory.result import Memory


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    BOTH = (
        "Predicted peak memory is off by at most {off}; of predictions whether a phase fits in "
        "the device's memory, {fits} are right."
    )
    PEAKS = "Predicted peak memory is off by at most {off}."
    FITS = "Of predictions whether a phase fits in the device's memory, {fits} are right."
    CANT_TELL = "That can't be told: no peak was measured."


def headline(result: Memory) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict = _verdict(result)
    return Headline(verdict, verdict.value, {"off": _most(result.off), "fits": result.fits})


def _most(off: tuple[Value, ...]) -> Value | None:
    return max(off, key=lambda value: value.number, default=None)


def _verdict(result: Memory) -> Verdict:
    if result.off:
        return Verdict.BOTH if result.fits else Verdict.PEAKS
    return Verdict.FITS if result.fits else Verdict.CANT_TELL
