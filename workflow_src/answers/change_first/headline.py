"""(f) in a sentence: what comes first in most cases, or that it depends on the case."""

from enum import StrEnum

from workflow_src.answers.change_first.result import ChangeFirst
from workflow_src.common.thresholds import MOSTLY
from workflow_src.common.words import in_words
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined

BEST = (
    "The best, combinations included, saves {best} (median; measured: {tried}, to another "
    "precision: {narrowed})."
)


class Verdict(StrEnum):
    """The verdicts of (f), each with its sentence."""

    FIRST = (
        "In the {phase}, by medians {remedy} saves most in {first} cases, {saved} (predicted: "
        "{guessed}; of one process: {lone}); sure in any case: {sure}. " + BEST
    )
    DEPENDS = (
        "By medians, what saves most of the {phase} is {counts} of {cases} cases (predicted: "
        "{guessed_all}; of one process: {alone}); sure: {sure}. " + BEST
    )
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
    every = {name: among.holds for name, among in counts.first.items()} | {"nothing": counts.none}
    said = (Joined((name, number), " in ") for name, number in every.items() if number.number)
    slots: dict[str, Cell] = {
        "phase": result.phase,
        "cases": counts.cases,
        "remedy": in_words(top),
        "first": counts.first[top].cell if top else None,
        "saved": counts.top.saved,
        "guessed": counts.top.predicted,
        "lone": counts.top.alone,
        "counts": Joined(tuple(said), ", "),
        "guessed_all": counts.named.predicted,
        "alone": counts.named.alone,
        "sure": counts.sure,
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
    most = next(iter(counts.first.values()))
    return Verdict.FIRST if most.share >= MOSTLY else Verdict.DEPENDS
