"""(f) in a sentence: what comes first in most cases, or that it depends on the case."""

from enum import StrEnum

from workflow_src.answers.change_first.result import ChangeFirst
from workflow_src.common.thresholds import MOSTLY
from workflow_src.common.words import in_words
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined


class Verdict(StrEnum):
    """The verdicts of (f), each with its sentence."""

    FIRST = (
        "In the {phase}, {remedy} comes first in {first} cases and saves {saved} there (of one "
        "process: {alone}). The best combinations save {best} (medians; measured: {tried}; "
        "another precision: {narrowed})."
    )
    DEPENDS = (
        "In the {phase}, what comes first is undecided in {undecided} of {cases} cases, "
        "nothing in {none}. Else it is {counts} (≈: predicted; of one process: {alone}). The best "
        "combinations save {best} (median; measured: {tried}; another precision: {narrowed})."
    )
    UNDECIDED = (
        "In the {phase}, what comes first is undecided in {undecided} of {cases} cases, "
        "nothing in {none}. The best combinations save {best} (median; measured: {tried}; another "
        "precision: {narrowed})."
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
    said = (Joined((name, among.holds), " in ") for name, among in counts.said.items())
    slots: dict[str, Cell] = {
        "phase": result.phase,
        "cases": counts.cases,
        "remedy": in_words(top),
        "first": counts.first[top].cell if top else None,
        "saved": counts.saved,
        "counts": Joined(tuple(said), ", "),
        "undecided": counts.undecided,
        "none": counts.none,
        "alone": counts.alone,
        "best": counts.best.saved,
        "tried": counts.best.tried,
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
