"""The study flash in a sentence: an attention of one's own against the fastest of PyTorch's."""

from enum import StrEnum

from workflow_src.common import words
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell
from workflow_src.studies.flash.named import name
from workflow_src.studies.flash.result import Contest, Flash, ms


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    OWN = (
        "Forward, {own} takes {times} as long as PyTorch's fastest ({best}) at context {context}, "
        "{own_ms} against {best_ms} ms; both passes of {own_both} take {times_both} as long as "
        "{best_both}, at context {context_both}."
    )
    OWN_PHASE = (
        "At context {context}, {own} takes {times} as long as {best}, the fastest of PyTorch's: "
        "{own_ms} against {best_ms} ms for the {phase}."
    )
    WRONG = (
        "{wrong} isn't right, and was not timed: the appendix says how far off it is. At context "
        "{context}, the fastest of PyTorch's is {best} with {best_ms} ms for the {phase}."
    )
    NO_OWN = (
        "At context {context}, the longest measured, the fastest of PyTorch's is {best} with "
        "{best_ms} ms for the {phase}; no attention of one's own was measured beside it."
    )
    CANT_TELL = "No attention of PyTorch's has a time, so which is fastest can't be told."


def headline(result: Flash) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict = _verdict(result)
    own = [contest for contest in result.contests if contest.own]
    told = own or list(result.contests[-1:])
    slots: dict[str, Cell] = {"wrong": result.wrong}
    for end, contest in zip(("", "_both"), told, strict=False):
        slots |= {f"{key}{end}": slot for key, slot in _slots(contest).items()}
    return Headline(verdict, verdict.value, slots)


def _slots(contest: Contest) -> dict[str, Cell]:
    return {
        "phase": words.PHASES_IN_PROSE[contest.phase],
        "context": contest.context,
        "best": name(contest.best),
        "best_ms": ms(contest.best),
        "own": contest.own and name(contest.own),
        "own_ms": contest.own and ms(contest.own),
        "times": contest.times,
    }


def _verdict(result: Flash) -> Verdict:
    own = [contest for contest in result.contests if contest.own]
    if not result.contests:
        return Verdict.CANT_TELL
    if not own:
        return Verdict.WRONG if result.wrong else Verdict.NO_OWN
    return Verdict.OWN if len(own) > 1 else Verdict.OWN_PHASE
