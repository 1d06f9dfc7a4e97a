"""(f) in a sentence: what comes first in most cases, or that it depends on the case."""

from enum import StrEnum

from workflow_src.answers.change_first.result import ChangeFirst
from workflow_src.common.thresholds import MOSTLY
from workflow_src.render.show import Headline
from workflow_src.render.value import Cell


class Verdict(StrEnum):
    """The verdicts of (f), each with its sentence."""

    LAUNCHES_FIRST = (
        "Fewer launches, as by a CUDA graph: in the {phase} they come first in {launches} of "
        "{cases}, and could save a median of {launches_saved} there."
    )
    PRECISION_FIRST = (
        "A lower precision: in the {phase} it comes first in {precision} of {cases}, and takes "
        "device time worth a median of {precision_saved} of the step away there."
    )
    DEVICE_WORK_FIRST = (
        "Less work for the device besides matrix products: in the {phase} it comes first in "
        "{device} of {cases}, and could save a median of {device_saved} there."
    )
    DEPENDS = (
        "It depends on the case: in the {phase}, fewer launches come first in {launches} of "
        "{cases}, a lower precision in {precision}, and less work for the device besides matrix "
        "products in {device}."
    )
    DISTURBED = (
        "Each case of which a saving is known was disturbed while it was captured, so what comes "
        "first can't be told."
    )
    CANT_TELL = "What any change could save isn't known, so what comes first can't be told."


def headline(result: ChangeFirst) -> Headline:
    """The verdict on a result, with its numbers."""
    slots: dict[str, Cell] = {
        "phase": result.phase,
        "cases": result.known.cases,
        "launches": result.launches.cases,
        "launches_saved": result.launches.saved,
        "precision": result.precision.cases,
        "precision_saved": result.precision.saved,
        "device": result.device.cases,
        "device_saved": result.device.saved,
    }
    verdict = _verdict(result)
    return Headline(verdict, verdict.value, slots)


def _verdict(result: ChangeFirst) -> Verdict:
    cases = result.known.cases.number
    if not cases:
        return Verdict.DISTURBED if result.only_disturbed else Verdict.CANT_TELL
    groups = {
        Verdict.LAUNCHES_FIRST: result.launches,
        Verdict.PRECISION_FIRST: result.precision,
        Verdict.DEVICE_WORK_FIRST: result.device,
    }
    clear = [each for each, mine in groups.items() if mine.cases.number >= MOSTLY * cases]
    return clear[0] if clear else Verdict.DEPENDS
