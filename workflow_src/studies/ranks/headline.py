"""Study ranks in a sentence: what communication costs a step, and what hides it."""

from collections.abc import Sequence
from enum import StrEnum

from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined
from workflow_src.studies.lines import spread
from workflow_src.studies.ranks.result import Ranks
from workflow_src.studies.ranks.way import Way

LITTLE = 1.05
"""Communication costs little where the best way's step takes at most so much of one without it."""


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    WRONG = (
        "That can't be told: after {wrong}, gradients are not those of one process on the whole "
        "batch (off by {error} of them at most)."
    )
    LITTLE = (
        "Little, where the device sets the pace and it is hidden: a step takes {least} as long as "
        "without communication at best ({best}); at worst {most} ({worst})."
    )
    MUCH = (
        "Much, even where the device sets the pace and it is hidden: a step takes {least} as long "
        "as without communication at best ({best}); at worst {most} ({worst})."
    )
    WAITS = (
        "That can't be told: without communication, the device works for {working} of the step, "
        "and while it waits for launches, communication costs nothing."
    )
    ON_A_CPU = (
        "A CPU doesn't show that: all ways give the gradients of one process on the whole batch "
        "(off by {error} of them at most), and no more is to be learned from processes that share "
        "its cores."
    )
    CANT_TELL = "That can't be told: no step without communication was measured beside one with it."


def headline(result: Ranks) -> Headline:
    """The verdict on a result, with its numbers."""
    cases = _by_case(result.ways)
    cases = [case for case in cases if not case[0].waits] or cases
    best, worst = ([pick(case, key=_over) for case in cases] for pick in (min, max))
    slots: dict[str, Cell] = {
        "wrong": _names([way for way in result.ways if way.wrong]),
        "error": result.error,
        "working": result.working,
        "least": spread(way.over for way in best),
        "best": _names(best),
        "most": spread(way.over for way in worst),
        "worst": _names(worst),
    }
    verdict = _verdict(result, best)
    return Headline(verdict, verdict.value, slots)


def _verdict(result: Ranks, best: Sequence[Way]) -> Verdict:
    if any(way.wrong for way in result.ways):
        return Verdict.WRONG
    if not best:
        return Verdict.CANT_TELL
    if not any(way.line.text("gpu") for way in best):
        return Verdict.ON_A_CPU if result.error else Verdict.CANT_TELL
    if best[0].waits:
        return Verdict.WAITS
    return Verdict.LITTLE if all(_over(way) <= LITTLE for way in best) else Verdict.MUCH


def _by_case(ways: Sequence[Way]) -> list[list[Way]]:
    """The ways of each case that communicate and have a time beside that without."""
    found: dict[str, list[Way]] = {}
    for way in ways:
        if way.communicates and way.over:
            found.setdefault(way.case, []).append(way)
    return list(found.values())


def _over(way: Way) -> float:
    return way.over.number if way.over else 0.0


def _names(ways: Sequence[Way]) -> Cell:
    return Joined(tuple(dict.fromkeys(way.name for way in ways)), by=" or ")
