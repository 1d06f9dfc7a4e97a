"""Two captures in a sentence, and the status of a gate."""

from enum import StrEnum

from workflow_src.compare.captures import CapturesCompared
from workflow_src.compare.change import DEVICE_BEYOND
from workflow_src.compare.change import Verdict as OfTime
from workflow_src.compare.headline import SAME_STATUS, SLOWER_STATUS, UNKNOWN_STATUS
from workflow_src.render.show import Headline
from workflow_src.render.value import Cell, Value


class Verdict(StrEnum):
    """The verdicts on two captures, each with its sentence."""

    SLOWER = (
        "B's device work takes longer than A's in each step: {ratio}. The range whose own work "
        "changes most: {path}."
    )
    FASTER = (
        "B's device work takes less time than A's in each step: {ratio}. The range whose own work "
        "changes most: {path}."
    )
    SAME = (
        "No difference shown between the device work of a step in A and in B: {ratio}, where "
        "{beyond} and steps that don't overlap count."
    )
    CANT_TELL = (
        "Can't tell whether B is slower than A: they don't have three steps each of one range path "
        "that hold device work."
    )


STATUSES = {
    Verdict.SLOWER: SLOWER_STATUS,
    Verdict.FASTER: SAME_STATUS,
    Verdict.SAME: SAME_STATUS,
    Verdict.CANT_TELL: UNKNOWN_STATUS,
}
OF_TIMES = {OfTime.SLOWER: Verdict.SLOWER, OfTime.FASTER: Verdict.FASTER}


def headline(found: CapturesCompared) -> Headline:
    """The verdict on two captures, with its numbers."""
    device = found.device
    verdict = OF_TIMES.get(device.verdict, Verdict.SAME) if device else Verdict.CANT_TELL
    slots: dict[str, Cell] = {
        "ratio": Value(device.ratio, "near_one", ()) if device else None,
        "path": str(found.paths["path"].iloc[0]) if len(found.paths) else None,
        "beyond": Value(DEVICE_BEYOND, "share", ()),
    }
    return Headline(verdict, verdict.value, slots)
