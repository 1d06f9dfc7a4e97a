"""(f) in a sentence: what comes first in most cases, or that it depends on the case."""

from enum import StrEnum

from workflow_src.answers.change_first.result import ChangeFirst
from workflow_src.common.thresholds import MOSTLY
from workflow_src.common.words import in_words
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined

BEST = (
    "The best, combinations included, saves {best} (median; measured: {tried}, else predicted; "
    "another precision: {narrowed})."
)


class Verdict(StrEnum):
    """The verdicts of (f), each with its sentence."""

    FIRST = (
        "In the {phase}, {remedy} comes first in {first} cases and saves {saved} (median; "
        "measured: {measured}, by one process: {lone}). " + BEST
    )
    DEPENDS = (
        "In the {phase}, what comes first is {counts} of {cases} cases (by one process: {alone}). "
        + BEST
    )
    UNDECIDED = "In the {phase}, what comes first is {counts} of {cases} cases. " + BEST
    NOTHING = (
        "In the {phase}, nothing comes first in {cases} cases: no remedy that is known saves by "
        "its interval and leaves training as it is."
    )
    DISTURBED = (
        "Each case of which a saving is known was disturbed while it was captured, so what comes "
        "first can't be told."
    )
    CANT_TELL = "What any change saves isn't known, so what comes first can't be told."


def headline(result: ChangeFirst) -> Headline:
    """The verdict on a result, with its numbers."""
    counts, top = result.counts, next(iter(result.counts.first), "")
    verdict = _verdict(result)
    decided = {name: among.holds for name, among in counts.said.items()}
    every = {"undecided": counts.undecided} | decided | {"nothing": counts.none}
    said = (Joined((name, number), " in ") for name, number in every.items() if number.number)
    slots: dict[str, Cell] = {
        "phase": result.phase,
        "cases": counts.cases,
        "remedy": in_words(top),
        "first": counts.first[top].cell if top else None,
        "saved": counts.top.saved,
        "measured": counts.top.measured,
        "lone": counts.top.alone,
        "counts": Joined(tuple(said), ", "),
        "alone": counts.decided.alone,
        "best": counts.best.saved,
        "tried": counts.best.measured,
        "narrowed": counts.best.narrowed,
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(result: ChangeFirst) -> Verdict:
    counts = result.counts
    if not counts.cases.number:
        return Verdict.DISTURBED if result.only_disturbed else Verdict.CANT_TELL
    if counts.none.number == counts.cases.number:
        return Verdict.NOTHING
    most = next(iter(counts.first.values()), None)
    if most is None:
        return Verdict.UNDECIDED
    return Verdict.FIRST if most.share >= MOSTLY else Verdict.DEPENDS
