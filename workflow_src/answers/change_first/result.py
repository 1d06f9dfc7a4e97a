"""(f): what each remedy could save, precision by precision, and what comes first in each case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from workflow_src.answers.among import among
from workflow_src.answers.answer import OpeningRow
from workflow_src.answers.change_first.levers import TABLE, measured
from workflow_src.answers.change_first.savings import First, OfPhase, Remedy, Saving, firsts
from workflow_src.answers.conditions import undisturbed
from workflow_src.answers.example import example
from workflow_src.answers.left_out import NOTHING_KNOWN, left_out, without_disturbed
from workflow_src.answers.matrix import by_precision, matrices
from workflow_src.answers.tables import Tables
from workflow_src.common import words
from workflow_src.common.case import PHASES
from workflow_src.render.value import Cell, Joined, Value, count, median

AT_MOST = "\N{LESS-THAN OR EQUAL TO}"
"""Stands before a bound."""

LAUNCHES = "launches"
PRECISION = "precision"
DEVICE = "device"
GROUPS = {Remedy.LAUNCHES: LAUNCHES, Remedy.PRECISION: PRECISION}
"""What a remedy takes away; those that aren't here take away other work of the device."""


@dataclass(frozen=True)
class Tally:
    """In how many cases something comes first, and the median share that it saves there."""

    cases: Value
    saved: Value | None


@dataclass(frozen=True)
class ChangeFirst:
    """What (f) found.

    `phase` is the longest phase of which anything is known, in the words of sentences; `launches`,
    `precision` and `device` count in how many of its cases each comes first, `known` all of them.
    `summary` has a row per remedy and phase, `matrices` what comes first in `phase`, `example` all
    savings of one case, `levers` what the study levers measured.
    """

    phase: str
    known: Tally
    launches: Tally
    precision: Tally
    device: Tally
    summary: pd.DataFrame
    matrices: tuple[pd.DataFrame, ...]
    example: pd.DataFrame
    levers: pd.DataFrame
    opening: tuple[OpeningRow, ...]
    left_out: pd.DataFrame = field(default_factory=pd.DataFrame)
    only_disturbed: bool = False


def result(tables: Tables) -> ChangeFirst:
    """Answer (f) from timings, ranges, kernels, captures and the table of the study levers."""
    cases = firsts(tables)
    shown = [phase for phase in PHASES if any(each.phases[phase].first for each in cases.values())]
    longest = shown[-1] if shown else PHASES[-1]
    mine = {case: each.phases[longest] for case, each in cases.items()}
    counted = undisturbed(tables)
    found = [first for case in counted if (first := mine[case].first)]
    columns = {
        precision: [cases[case] for case in group]
        for precision, group in by_precision(counted).items()
    }
    chosen = example(tables)
    return ChangeFirst(
        phase=words.PHASES_IN_PROSE[longest],
        known=tally(found),
        launches=tally([each for each in found if group_of(each) == LAUNCHES]),
        precision=tally([each for each in found if group_of(each) == PRECISION]),
        device=tally([each for each in found if group_of(each) == DEVICE]),
        summary=summary(columns, list(dict.fromkeys([*shown[:1], *shown[-1:]]))),
        matrices=matrices(tables.cases, lambda case: cell(mine[case])) if shown else (),
        example=by_hand(cases[chosen]) if chosen else pd.DataFrame(),
        levers=measured(tables[TABLE]) if TABLE in tables.frames else pd.DataFrame(),
        opening=opening(columns),
        left_out=left_out(
            tables, without_disturbed(tables, {case: _state(each) for case, each in mine.items()})
        ),
        only_disturbed=not found and any(each.first for each in mine.values()),
    )


def _state(found: OfPhase) -> str:
    """Why nothing comes first in a case; "ok" if something does."""
    if found.first:
        return "ok"
    return NOTHING_KNOWN if found.state == "ok" else found.state


def group_of(saving: Saving) -> str:
    """What a remedy takes away: launches, precision, or other work of the device."""
    return GROUPS.get(saving.remedy, DEVICE)


def tally(savings: Sequence[Saving]) -> Tally:
    """How many there are, and the median of their shares."""
    shares = [each.share for each in savings]
    return Tally(count(shares, "cases in which it comes first"), median(shares))


def cell(found: OfPhase) -> Cell:
    """What comes first in a case and the share that it saves; or why nothing does."""
    if found.first is None:
        return words.STATES[found.state] if found.state != "ok" else None
    return Joined((words.REMEDIES[found.first.remedy], _share(found.first)), " ")


def _share(saving: Saving) -> Cell:
    return saving.share if saving.measured else Joined((AT_MOST, saving.share), " ")


def summary(columns: Mapping[str, Sequence[First]], phases: Sequence[str]) -> pd.DataFrame:
    """What each remedy saves of some phases: median shares, and in how many cases it is first."""
    lines: list[list[Cell]] = []
    for phase in phases:
        for remedy in Remedy:
            mine = [[each.phases[phase] for each in cases] for cases in columns.values()]
            cells = [_of_remedy(remedy, each) for each in mine]
            if any(cells):
                lines.append([words.PHASES[phase], words.REMEDIES[remedy], *cells])
    headings = ["median share of", "that is saved by", *columns]
    return pd.DataFrame(lines, columns=headings, dtype="object")


def _of_remedy(remedy: Remedy, cases: Sequence[OfPhase]) -> Cell:
    found = [saving for each in cases if (saving := each.by(remedy))]
    if not found:
        return None
    measured = [saving for saving in found if saving.measured]
    middle = median(each.share for each in measured or found)
    first = [each.first for each in cases if each.first]
    counted = among([each.share for each in first], [each.remedy is remedy for each in first]).cell
    return Joined((middle if measured else Joined((AT_MOST, middle), " "), counted), "; first in ")


def by_hand(first: First) -> pd.DataFrame:
    """All that is known of one case, in ms: its plain times, and what each remedy saves of them."""
    phases = [each for each in first.phases.values() if each.savings]
    headings = [f"{first.case.case}, ms", *(words.PHASES[each.times.phase] for each in phases)]
    lines: list[list[Cell]] = [["plain Python", *(each.times.plain for each in phases)]]
    lines += [["device time", *(each.times.busy for each in phases)]]
    for remedy in Remedy:
        if any(each.by(remedy) for each in phases):
            cells = [bounded(each.by(remedy)) for each in phases]
            lines.append([words.REMEDIES[remedy], *cells])
    return pd.DataFrame(lines if phases else [], columns=headings, dtype="object")


def bounded(saving: Saving | None) -> Cell:
    """What a remedy saves, in ms; a bound has its sign."""
    if saving is None:
        return None
    return saving.ms if saving.measured else Joined((AT_MOST, saving.ms), " ")


def opening(columns: Mapping[str, Sequence[First]]) -> tuple[OpeningRow, ...]:
    """The row of (f) in the report's table of medians; none if no forward pass was replayed."""
    saved: dict[str, Cell] = {
        name: median(each.phases["forward"].times.saved for each in cases)
        for name, cases in columns.items()
    }
    label = "(f) forward time saved by a CUDA graph"
    return (OpeningRow(label, saved),) if any(saved.values()) else ()
