"""The tables of (f) over all cases: what each remedy saves, and how near predictions come."""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from workflow_src.answers.among import among
from workflow_src.answers.change_first import cells
from workflow_src.answers.change_first.first import First, OfPhase
from workflow_src.answers.change_first.saving import Saving, candidates, rank
from workflow_src.answers.intervals import Interval
from workflow_src.common import words
from workflow_src.common.remedies import REMEDIES
from workflow_src.paper.value import Cell, Joined, Value, count, ratio, spread

PREDICTED_OVER = "predicted / measured"

BEST = "best, combinations included"

FEW_RATIOS = 3
"""The median of so many ratios, or of fewer, has two digits."""


def summary(columns: Mapping[str, Sequence[First]], phases: Sequence[str]) -> pd.DataFrame:
    """What remedies save of some phases: median shares, and in how many cases each is first."""
    lines: list[list[Cell]] = []
    for phase in phases:
        of_phase = [[each.phases[phase] for each in cases] for cases in columns.values()]
        for saving in known([each for cases in of_phase for each in cases]):
            said = [_and_first(saving, cases) for cases in of_phase]
            lines.append([words.PHASES[phase], saving.name, *said])
    headings = ["median share (least to most) of", "that is saved by", *columns]
    return pd.DataFrame(lines, columns=headings, dtype="object")


def known(phases: Sequence[OfPhase]) -> list[Saving]:
    """A saving of each name of which anything is known, those of fewer remedies first."""
    every = {each.name: each for phase in phases for each in phase.savings}
    return sorted(every.values(), key=rank)


def by_remedy(columns: Mapping[str, Sequence[First]], phase: str) -> pd.DataFrame:
    """The median share of a phase that each remedy saves by itself, and the best of each case.

    A remedy that doesn't train by itself has a row with an optimizer besides, too.
    """
    of_phase = [[each.phases[phase] for each in cases] for cases in columns.values()]
    every = [each for cases in of_phase for each in cases]
    may = {saving.name for each in every for saving in candidates(each.savings)}
    lines = [
        _line(saving.name, [mostly_measured(_of(saving, cases)) for cases in of_phase], of_phase)
        for saving in known(every)
        if set(saving.remedies) <= set(REMEDIES) and (saving.single or saving.name in may)
    ]
    best = [[each.choice.best for each in cases if each.choice.best] for cases in of_phase]
    lines += [_line(BEST, best, of_phase)] if any(best) else []
    headings = [words.PHASES[phase], *columns, PREDICTED_OVER]
    made = pd.DataFrame(lines, columns=headings, dtype="object")
    return made if made[PREDICTED_OVER].notna().any() else made.drop(columns=PREDICTED_OVER)


def _line(
    name: str, found: Sequence[Sequence[Saving]], of_phase: Sequence[Sequence[OfPhase]]
) -> list[Cell]:
    """The medians of some savings by column, and how near those measured were predicted."""
    medians = (
        _counted(cells.middle(mine), mine, cases)
        for mine, cases in zip(found, of_phase, strict=True)
    )
    return [name, *medians, _near([each for mine in found for each in mine])]


def mostly_measured(savings: Sequence[Saving]) -> Sequence[Saving]:
    """Those that were measured, if most of them were; else all."""
    tried = [each for each in savings if each.measured]
    return tried if 2 * len(tried) > len(savings) else savings


def _near(every: Sequence[Saving]) -> Cell:
    """How near predictions of some savings come to what was measured, and to how many times."""
    if not any(each.measured for each in every):
        return "not measured"
    both = _ratios(every)
    near = _ratios(every, "two digits" if len(both) <= FEW_RATIOS else "hundredths")
    times = measured_times(each for each in every if each.predicted)
    return Joined((spread(near), times), ", n = ") if both else None


def measured_times(savings: Iterable[Saving]) -> Value:
    """How many times were measured: one that several cases come to, by one program, counts once."""
    times = {each.time.middle.number: each.time.middle for each in savings if each.measured}
    return count(times.values(), "measured times")


def _of(saving: Saving, cases: Sequence[OfPhase]) -> list[Saving]:
    """What is known of the same remedies in some cases."""
    return [it for each in cases if (it := each.by(saving.name))]


def _and_first(saving: Saving, cases: Sequence[OfPhase]) -> Cell:
    """The same with the least and the most, and in how many cases they are first, if they may."""
    found = mostly_measured(_of(saving, cases))
    if not found:
        return None
    middle = cells.of_several(found, spread(each.share.middle for each in found))
    said = _counted(middle, found, cases)
    is_first = [_is_first(each, saving.name) for each in cases if each.savings]
    if any(is_first) or (saving.single and saving.trains):
        plain = [each.times.plain for each in cases if each.savings]
        return Joined((said, among(plain, is_first).cell), "; surely first in ")
    return said


def _counted(said: Cell, found: Sequence[Saving], cases: Sequence[OfPhase]) -> Cell:
    """A cell of some cases' savings, with their number where it is known of more cases."""
    if not found or len(found) == sum(bool(each.savings) for each in cases):
        return said
    number = count((each.share.middle for each in found), "cases of which it is known")
    return Joined((said, " (n = ", number, ")"), "")


def _is_first(phase: OfPhase, name: str) -> bool:
    first = phase.choice.first
    return first is not None and first.name == name


def against_predictions(cases: Sequence[First], phases: Sequence[str]) -> pd.DataFrame:
    """How near predicted times come to measured ones, by phase and remedies.

    Not to those of a study, which its own tables hold against predictions one by one.
    """
    lines: list[list[Cell]] = []
    for phase in phases:
        of_phase = [each.phases[phase] for each in cases]
        for saving in known(of_phase):
            every = _of(saving, of_phase)
            if both := [it for it in every if it.predicted and not it.known.studied]:
                lines.append([words.PHASES[phase], saving.name, *_nearness(both)])
    headings = ["phase", "with", f"{PREDICTED_OVER}, median (least to most)", "intervals meet"]
    return pd.DataFrame(lines, columns=headings, dtype="object")


def _nearness(both: Sequence[Saving]) -> list[Cell]:
    ratios = _ratios(both)
    meet = [each.predicted is not None and overlap(each.predicted, each.time) for each in both]
    return [spread(ratios), among(ratios, meet).cell]


def _ratios(savings: Iterable[Saving], unit: str = "near_one") -> list[Value | None]:
    """Predicted over measured times, where there are both."""
    return [
        ratio(each.predicted.middle, each.time.middle, unit, PREDICTED_OVER)
        for each in savings
        if each.predicted
    ]


def overlap(one: Interval, other: Interval) -> bool:
    """Whether two intervals have a value in common."""
    return one.low.number <= other.high.number and other.low.number <= one.high.number
