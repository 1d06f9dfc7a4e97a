"""Study checkpointing in a sentence: whether the best choice was predicted, and the peaks."""

from enum import StrEnum

from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined
from workflow_src.studies.checkpointing.result import Best, Checkpointing, blocks


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    PREDICTED = (
        "Of the numbers of blocks per checkpoint tried none needs less memory than the predicted "
        "one: {choices}. "
        "Predicted peaks are off by at most {off}."
    )
    OTHERWISE = (
        "Another number of blocks per checkpoint than the predicted one can need least memory: "
        "{choices}. Predicted peaks are off by at most {off}."
    )
    PEAKS = "Predicted peaks are off by at most {off}; no choice of checkpoints ran."
    CANT_TELL = "That can't be told: no step with checkpoints ran."


def headline(result: Checkpointing) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict = _verdict(result)
    most = max(result.off, key=lambda value: value.number, default=None)
    choices = Joined(tuple(_choice(each) for each in result.best), by=", ")
    return Headline(verdict, verdict.value, {"choices": choices, "off": most})


def _choice(best: Best) -> Cell:
    """A model, and its blocks per checkpoint of least peak."""
    line = best.predicted if best.predicted and best.right else best.measured
    return Joined((line.text("size"), blocks(line)), by=" ")


def _verdict(result: Checkpointing) -> Verdict:
    if not result.off:
        return Verdict.CANT_TELL
    if not result.best:
        return Verdict.PEAKS
    return Verdict.PREDICTED if all(each.right for each in result.best) else Verdict.OTHERWISE
