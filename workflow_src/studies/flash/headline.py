"""The study flash in a sentence: an attention of one's own against the fastest of PyTorch's."""

from enum import StrEnum

from workflow_src.render.show import Headline
from workflow_src.studies.flash.named import name
from workflow_src.studies.flash.result import Contest, Flash, ms


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    OWN = (
        "At context {context}, {own} takes {times} as long as {best}, the fastest of PyTorch's: "
        "{own_ms} against {best_ms} ms for both passes."
    )
    OWN_FORWARD = (
        "At context {context}, {own} takes {times} as long as {best}, the fastest of PyTorch's: "
        "{own_ms} against {best_ms} ms for the forward pass; both passes have no such pair."
    )
    WRONG = (
        "{wrong} isn't right, and was not timed: the appendix says how far off it is. At context "
        "{context}, the fastest of PyTorch's is {best} with {best_ms} ms."
    )
    NO_OWN = (
        "At context {context}, the longest measured, the fastest of PyTorch's is {best} with "
        "{best_ms} ms; no attention of one's own was measured beside it."
    )
    CANT_TELL = "None of PyTorch's attentions has a time, so which is fastest can't be told."


def headline(result: Flash) -> Headline:
    """The verdict on a result, with its numbers."""
    contest, verdict = result.contest, _verdict(result.contest)
    own = contest and contest.own
    slots = {
        "context": contest and contest.context,
        "best": contest and name(contest.best),
        "best_ms": contest and ms(contest.best),
        "own": own and name(own),
        "own_ms": own and ms(own),
        "times": contest and contest.times,
        "wrong": contest and contest.wrong,
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(contest: Contest | None) -> Verdict:
    if contest is None:
        return Verdict.CANT_TELL
    if contest.own is None:
        return Verdict.WRONG if contest.wrong else Verdict.NO_OWN
    return Verdict.OWN if contest.phase == "forward_backward" else Verdict.OWN_FORWARD
