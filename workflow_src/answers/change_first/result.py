"""(f): what each remedy saves, alone and with others, and what comes first in each case."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.among import Among, among
from workflow_src.answers.answer import OpeningRow
from workflow_src.answers.change_first import cells
from workflow_src.answers.change_first.first import First, OfPhase, firsts
from workflow_src.answers.change_first.legend import legend
from workflow_src.answers.change_first.predicted import TABLE
from workflow_src.answers.change_first.saving import Choice, Saving
from workflow_src.answers.change_first.summary import (
    against_predictions,
    by_remedy,
    measured_times,
    summary,
)
from workflow_src.answers.change_first.targets import target
from workflow_src.answers.conditions import undisturbed
from workflow_src.answers.left_out import left_out, without_disturbed
from workflow_src.answers.matrix import by_precision, corners, matrix
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common import words
from workflow_src.common.case import PHASES
from workflow_src.common.precisions import PRECISIONS
from workflow_src.paper.value import Cell, Joined, Value, count, median

FIRST = "(f) saves most; best combined saves"
PREDICTED_TOO = f" ({cells.PREDICTED}: predicted)"
"""The label of the opening's row, and what stands behind it where a prediction is in it."""


@dataclass(frozen=True)
class Chosen:
    """A saving of each of some cases.

    saved: the median share; measured: how many times were measured, one of which can be of several
    cases; predicted: how many are; alone: of how many a time is of one process; narrowed: how many
    have another precision than their case.
    """

    saved: Value | None
    measured: Value
    predicted: Value
    alone: Value
    narrowed: Value


@dataclass(frozen=True)
class Counts:
    """In how many of the cases of a phase something is known, and what comes first in them.

    first: by the remedy that is named first, the most frequent one first.
    sure: in so many no other may save more, by its interval. none: in so many none saves by its.
    named, top, best: what is named first in any case, the most frequent one where it is, and what
    saves most in each case, alone or combined.
    """

    cases: Value
    first: Mapping[str, Among]
    sure: Value
    none: Value
    named: Chosen
    top: Chosen
    best: Chosen


@dataclass(frozen=True)
class ChangeFirst:
    """What (f) found.

    phase: the longest of which anything is known, in the words of sentences.
    matrices: of it, by precision: what comes first, then the best combinations; legend: what the
    marks and words of its cells mean.
    tables: a row per remedy and phase; per single remedy; predicted against measured times.
    predictions: whether the run has any.
    """

    phase: str
    counts: Counts
    matrices: tuple[pd.DataFrame, ...]
    legend: tuple[Markup, ...]
    tables: Mapping[str, pd.DataFrame]
    predictions: bool
    opening: tuple[OpeningRow, ...]
    left_out: pd.DataFrame = field(default_factory=pd.DataFrame)
    only_disturbed: bool = False


def result(tables: Tables) -> ChangeFirst:
    """Answer (f) from timings, captures, predictions and the study levers."""
    cases = firsts(tables)
    shown = [
        phase for phase in PHASES if any(each.phases[phase].savings for each in cases.values())
    ]
    longest = shown[-1] if shown else PHASES[-1]
    mine = {case: each.phases[longest] for case, each in cases.items()}
    counted = undisturbed(tables)
    columns = {
        precision: [cases[case] for case in group]
        for precision, group in by_precision(counted).items()
    }
    counts = counted_first([mine[case] for case in counted])
    matrices = in_pairs(tables, mine) if shown else ()
    alone = by_remedy(columns, longest)
    return ChangeFirst(
        phase=words.PHASES_IN_PROSE[longest],
        counts=counts,
        matrices=matrices,
        legend=legend([*matrices, alone]),
        tables={
            "summary": summary(columns, list(dict.fromkeys([*shown[:1], *shown[-1:]]))),
            "alone": alone,
            "predicted": against_predictions([cases[case] for case in counted], shown),
        },
        predictions=not tables[TABLE].empty,
        opening=opening(columns, longest),
        left_out=left_out(
            tables, without_disturbed(tables, {case: _why_not(each) for case, each in mine.items()})
        ),
        only_disturbed=not counts.cases.number and any(each.savings for each in mine.values()),
    )


def _why_not(phase: OfPhase) -> str:
    """Why nothing is known of a phase, or else nothing of its graph; "ok" otherwise."""
    reason = phase.times.replay_reason
    return f"graph: {reason}" if phase.state == "ok" and reason else phase.state


def counted_first(phases: Sequence[OfPhase]) -> Counts:
    """What comes first in how many of the cases of which anything is known."""
    known = [each for each in phases if each.savings]
    plain = [each.times.plain for each in known]
    chosen = [each.choice for each in known]
    firsts = [next(iter(each.contenders), None) for each in chosen]
    names = [each.name if each else "" for each in firsts]
    order = _by_frequency(names)
    return Counts(
        cases=count(plain, "cases of which anything is known"),
        first={name: among(plain, [name == each for each in names]) for name in order},
        sure=among(plain, [each.first is not None for each in chosen]).holds,
        none=among(plain, [not each for each in firsts]).holds,
        named=_chosen(plain, firsts),
        top=_chosen(plain, [each if each and each.name in order[:1] else None for each in firsts]),
        best=_chosen(plain, [each.best for each in chosen]),
    )


def _chosen(plain: Sequence[Value | None], savings: Sequence[Saving | None]) -> Chosen:
    """The savings of cases, each beside its plain time."""

    def counted(holds: Callable[[Saving], bool]) -> Value:
        return among(plain, [bool(each and holds(each)) for each in savings]).holds

    return Chosen(
        saved=median(each.share.middle for each in savings if each),
        measured=measured_times(each for each in savings if each),
        predicted=counted(lambda each: not each.measured),
        alone=counted(lambda each: each.alone),
        narrowed=counted(lambda each: not set(PRECISIONS).isdisjoint(each.remedies)),
    )


def _by_frequency(names: Iterable[str]) -> list[str]:
    return [name for name, _ in Counter(filter(None, names)).most_common()]


def in_pairs(tables: Tables, phases: Mapping[CaseKey, OfPhase]) -> tuple[pd.DataFrame, ...]:
    """Of each precision what comes first, by size and context, and the best combinations."""
    pairs = (
        _pair(tables, corner, {each: phases[each] for each in mine})
        for corner, mine in corners(tables.cases)
    )
    return tuple(frame for pair in pairs for frame in pair if len(frame))


def _pair(
    tables: Tables, corner: str, phases: Mapping[CaseKey, OfPhase]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What comes first in some cases, and the best combinations, headed by that of most cases."""
    usual = usual_best(each.choice for each in phases.values())
    first = matrix(corner, phases, lambda case: first_cell(tables, phases[case]))
    heading = f"{corner}, with {usual}"
    return first, matrix(heading, phases, lambda case: cells.best_range(phases[case].choice, usual))


def usual_best(choices: Iterable[Choice]) -> str:
    """The name of the combination that is the best in most cases; "" without any."""
    best = (each.best for each in choices)
    return next(iter(_by_frequency(each.name for each in best if each and not each.single)), "")


def first_cell(tables: Tables, phase: OfPhase) -> Cell:
    """What comes first in a case, and why; or why nothing does.

    Not why of a study's saving: its share is of another plain step than the case's parts are.
    """
    if phase.savings:
        top = next(iter(phase.choice.contenders), None)
        why = target(tables, phase.times, top) if top and not top.known.studied else None
        return cells.first(phase.choice, why) or cells.nothing(phase.savings)
    return words.STATES.get(phase.state)


def opening(columns: Mapping[str, Sequence[First]], phase: str) -> tuple[OpeningRow, ...]:
    """The row of (f) in the report's table of medians; none if nothing saves by its interval."""
    rows: dict[str, Cell] = {}
    guessed = False
    for name, cases in columns.items():
        known = [each.phases[phase] for each in cases]
        best = [each.choice.best for each in known if each.choice.best]
        counts = counted_first(known)
        if best and counts.first:
            top, among = next(iter(counts.first.items()))
            rows[name] = Joined((Joined((top, among.cell), ", "), cells.middle(best)), "; ")
            guessed |= any(not each.measured for each in best)
    return (OpeningRow(FIRST + PREDICTED_TOO * guessed, rows),) if rows else ()
