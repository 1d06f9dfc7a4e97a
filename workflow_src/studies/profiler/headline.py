"""The profiler study in a sentence: in how many cases it makes a forward pass longer."""

from enum import StrEnum

from workflow_src.paper.show import Headline
from workflow_src.paper.value import median
from workflow_src.studies.lines import out_of, spread
from workflow_src.studies.profiler.result import Profiler


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    COSTS = (
        "Cases in which the profiler makes the forward pass longer in each pair of processes: "
        "{slower}; there by a median of {times}."
    )
    NOT_SHOWN = "In no case does the profiler make the pass longer in each of three or more pairs."
    CANT_TELL = "No pair of processes was measured."


def headline(result: Profiler) -> Headline:
    """The verdict on a result, with its numbers."""
    medians = [median(each.ratios) for each in result.cases]
    slower = [each for each, case in zip(medians, result.cases, strict=True) if case.slower]
    slots = {
        "slower": out_of([each for each in slower if each], [each for each in medians if each]),
        "times": spread(slower),
    }
    verdict = _verdict(result)
    return Headline(verdict, verdict.value, slots)


def _verdict(result: Profiler) -> Verdict:
    if not result.cases:
        return Verdict.CANT_TELL
    return Verdict.COSTS if any(each.slower for each in result.cases) else Verdict.NOT_SHOWN
