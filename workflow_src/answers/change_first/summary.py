"""The tables of (f) over all cases: what each remedy saves, and how near predictions come."""

from collections.abc import Mapping, Sequence

import pandas as pd

from workflow_src.answers.among import among
from workflow_src.answers.change_first import cells
from workflow_src.answers.change_first.first import First, OfPhase
from workflow_src.answers.change_first.saving import Saving, overlap, rank
from workflow_src.common import words
from workflow_src.common.remedies import REMEDIES
from workflow_src.paper.value import Cell, Joined, count, ratio, spread

Remedies = tuple[str, ...]


def summary(columns: Mapping[str, Sequence[First]], phases: Sequence[str]) -> pd.DataFrame:
    """What remedies save of some phases: median shares, and in how many cases each is first."""
    lines: list[list[Cell]] = []
    for phase in phases:
        of_phase = [[each.phases[phase] for each in cases] for cases in columns.values()]
        for remedies in known([each for cases in of_phase for each in cases]):
            said = [_of_remedies(remedies, cases) for cases in of_phase]
            lines.append([words.PHASES[phase], "+".join(remedies), *said])
    headings = ["median share (least to most) of", "that is saved by", *columns]
    return pd.DataFrame(lines, columns=headings, dtype="object")


def known(phases: Sequence[OfPhase]) -> list[Remedies]:
    """The remedies and combinations of which anything is known, those of fewer first."""
    every = dict.fromkeys(each.remedies for phase in phases for each in phase.savings)
    return sorted(every, key=rank)


def alone(columns: Mapping[str, Sequence[First]], phase: str) -> pd.DataFrame:
    """The median share of a phase that each remedy saves by itself: a row each."""
    lines: list[list[Cell]] = []
    for name in REMEDIES:
        of_name = [
            [saving for each in cases if (saving := each.phases[phase].by((name,)))]
            for cases in columns.values()
        ]
        if any(of_name):
            lines.append([name, *map(cells.middle, of_name)])
    return pd.DataFrame(lines, columns=[words.PHASES[phase], *columns], dtype="object")


def _of_remedies(remedies: Remedies, cases: Sequence[OfPhase]) -> Cell:
    """What they save where they are known; if that isn't everywhere, in how many cases."""
    found = [saving for each in cases if (saving := each.by(remedies))]
    if not found:
        return None
    said = cells.of_several(found, spread(each.share.middle for each in found))
    plain = [each.times.plain for each in cases if each.savings]
    if len(found) < len(plain):
        number = count((each.share.middle for each in found), "cases of which it is known")
        said = Joined((said, " (n = ", number, ")"), "")
    if len(remedies) > 1:
        return said
    is_first = [_is_first(each, remedies) for each in cases if each.savings]
    return Joined((said, among(plain, is_first).cell), "; first in ")


def _is_first(phase: OfPhase, remedies: Remedies) -> bool:
    first = phase.choice.first
    return first is not None and first.remedies == remedies


def against_predictions(cases: Sequence[First], phases: Sequence[str]) -> pd.DataFrame:
    """How near predicted times come to measured ones, by phase and remedies."""
    lines: list[list[Cell]] = []
    for phase in phases:
        of_phase = [each.phases[phase] for each in cases]
        for remedies in known(of_phase):
            both = [s for each in of_phase if (s := each.by(remedies)) and s.predicted]
            if both:
                lines.append([words.PHASES[phase], "+".join(remedies), *_nearness(both)])
    headings = ["phase", "with", "predicted / measured, median (least to most)", "intervals meet"]
    return pd.DataFrame(lines, columns=headings, dtype="object")


def _nearness(both: Sequence[Saving]) -> list[Cell]:
    ratios = [
        ratio(each.predicted.middle, each.time.middle, "near_one", "predicted / measured")
        for each in both
        if each.predicted
    ]
    meet = [each.predicted is not None and overlap(each.predicted, each.time) for each in both]
    return [spread(ratios), among(ratios, meet).cell]
