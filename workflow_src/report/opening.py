"""The report's opening: what ran, the table of medians, the headline, and the doubts, once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.conditions import conditions, hosts
from workflow_src.answers.doubts import Warned
from workflow_src.answers.tables import Tables
from workflow_src.answers.times import PhaseTimes
from workflow_src.common import words
from workflow_src.common.case import LATER, NAMES, OWN
from workflow_src.common.environment import SAME_EVERYWHERE
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined, Rows, Value, count, merged, ratio, rows_of
from workflow_src.report.headline import headline
from workflow_src.report.parts import Part
from workflow_src.report.run import Run

NO_AXIS = {0, OWN}
"""What the cases of a brought model have where it has no axis of that name."""

DIFFERENT = 0.005
"""Processes differ if the slowest takes longer than the fastest by more than this share: less
vanishes in rounding."""


@dataclass(frozen=True)
class Doubts:
    """What a reader must know before using any number; None or () where there is nothing.

    `warned`: how many cases have a warning, and how many which; `spread`: the slowest process over
    the fastest, at most; `several`: how many cases have several processes; `hosts`: on how many
    cases ran, where on more than one; `incomplete`: how many cases lack a time or a capture;
    `mixed`: columns of machine and versions in which cases differ; `failed`: parts that could not
    be written.
    """

    warned: Cell
    spread: Value | None
    several: Value
    hosts: Value | None
    incomplete: Cell
    mixed: str
    failed: tuple[Part, ...]

    @property
    def any(self) -> bool:
        """Whether there is any doubt."""
        doubted = (self.warned, self.spread, self.hosts, self.incomplete, self.mixed, self.failed)
        return any(doubted)


@dataclass(frozen=True)
class Opening:
    """What stands before the answers, beside the table of medians.

    `measured`: how many of the cases were, where not all. `axes` are (name, values) of what ran.
    """

    devices: str
    on_cpu: bool
    cases: Value
    measured: Value | None
    axes: tuple[tuple[str, str], ...]
    headline: Headline
    doubts: Doubts


def opening(run: Run) -> Opening:
    """The opening of a run's report."""
    tables = run.tables
    return Opening(
        devices=devices(tables),
        on_cpu=bool(tables.cases) and all(case.on_cpu for case in tables.cases),
        cases=case_count(tables),
        measured=measured
        if (measured := measured_count(tables)).number < len(tables.cases)
        else None,
        axes=axes(tables),
        headline=headline(tables, run.times),
        doubts=doubts(run),
    )


def devices(tables: Tables) -> str:
    """The devices by name; "" if none was recorded."""
    found = []
    for case in tables.cases:
        rows = tables.of("environments", case.case)
        column = "cpu" if case.on_cpu else "gpu"
        found += [str(name) for name in rows.get(column, ()) if name]
    return ", ".join(dict.fromkeys(found))


def case_count(tables: Tables) -> Value:
    """How many cases there are, from the rows of timings and captures that name them."""
    tabled = [
        rows_of(name, tables[name].drop_duplicates("case")) for name in ("timings", "captures")
    ]
    sources = merged(rows for rows in tabled if rows.numbers)
    return Value(len(tables.cases), "count", sources, "cases")


def measured_count(tables: Tables) -> Value:
    """How many cases ran: those that environments.csv has a row of."""
    rows = tables["environments"].drop_duplicates("case")
    sources = (rows_of("environments", rows),) if len(rows) else ()
    return Value(len(rows), "count", sources, "cases that ran")


def axes(tables: Tables) -> tuple[tuple[str, str], ...]:
    """The axes and the values of the cases that ran, each in order of appearance.

    An axis that older runs lack is left out where all cases are like theirs.
    """
    found = {name: dict.fromkeys(getattr(case, name) for case in tables.cases) for name in NAMES}
    found["context"] = dict.fromkeys(sorted(found["context"]))
    return tuple(
        (name, ", ".join(words.VALUES.get(name, {}).get(str(each), str(each)) for each in values))
        for name, values in found.items()
        if set(values) - NO_AXIS - {LATER.get(name)}
    )


def medians(run: Run, page: bool) -> pd.DataFrame:
    """The opening's table: a row for each that an answer adds, a column per precision."""
    columns = list(dict.fromkeys(case.precision for case in run.tables.cases))
    lines = [
        [row.label, *(row.cells[name].on(page) if name in row.cells else None for name in columns)]
        for part in run.answers
        for row in part.opening
    ]
    heading = "medians and counts"
    return pd.DataFrame(lines, columns=[heading, *columns], dtype="object")


def doubts(run: Run) -> Doubts:
    """The doubts about a run."""
    every = case_count(run.tables)
    failed = tuple(part for part in run.parts if part.log)
    lacking = dict.fromkeys(each.case.case for each in run.times if not each.complete)
    return Doubts(
        warned=with_each(run.tables),
        spread=spread(run.times),
        several=several(run.times),
        hosts=several_hosts(run.tables),
        incomplete=Joined((_named(run.tables, lacking), every), by=" of ") if lacking else None,
        mixed=mixed(run.tables["environments"]),
        failed=failed,
    )


def warned(tables: Tables, warnings: Iterable[Warned]) -> Cell:
    """How many of the measured cases have one of some warnings; None if none has."""
    found = [each.case for each in conditions(tables) if set(each.warnings) & set(warnings)]
    if not found:
        return None
    number = Value(len(found), "count", (_environments(tables, found),), "cases with a warning")
    return Joined((number, measured_count(tables)), by=" of ")


def with_each(tables: Tables) -> Cell:
    """How many cases have a warning, then how many have which, the commonest first; or None."""
    cases = {
        each: [case.case for case in conditions(tables) if each in case.warnings] for each in Warned
    }
    told = [
        Joined((each.value, _with_warning(tables, cases[each])), by=": ")
        for each in sorted(Warned, key=lambda each: -len(cases[each]))
        if cases[each]
    ]
    return Joined((warned(tables, tuple(Warned)), *told), by="; ") if told else None


def _with_warning(tables: Tables, cases: Sequence[str]) -> Value:
    return Value(len(cases), "count", (_environments(tables, cases),), "cases with that warning")


def _environments(tables: Tables, cases: Sequence[str]) -> Rows:
    rows = tables["environments"]
    return rows_of("environments", rows[rows["case"].isin(list(cases))])


def _named(tables: Tables, cases: dict[str, None]) -> Value:
    """How many these cases are, with the rows of theirs."""
    rows = tables["timings"]
    mine = rows_of("timings", rows[rows["case"].isin(list(cases))])
    return Value(len(cases), "count", (mine,) if mine.numbers else (), "cases that lack one")


def spread(times: Sequence[PhaseTimes]) -> Value | None:
    """The slowest process over the fastest, where they differ most; None if they don't."""
    ratios = [ratio(each.slowest, each.fastest, "times") for each in times]
    most = max(filter(None, ratios), key=lambda each: each.number, default=None)
    return most if most is not None and most.number > 1 + DIFFERENT else None


def several(times: Sequence[PhaseTimes]) -> Value:
    """Of how many cases several processes were timed."""
    slowest = {each.case.case: each.slowest for each in times}
    return count(slowest.values(), "cases of several processes")


def several_hosts(tables: Tables) -> Value | None:
    """On how many hosts the cases ran; None if on one, or if that isn't known."""
    found = hosts(tables)
    return found if found is not None and found.number > 1 else None


def mixed(environments: pd.DataFrame) -> str:
    """The columns of machine and versions in which cases differ, as code; "" if in none."""
    found = [f"`{name}`" for name in SAME_EVERYWHERE if _differs(environments, name)]
    return Markup(", ").join(map(Markup, found))


def _differs(environments: pd.DataFrame, column: str) -> bool:
    return column in environments and environments[column].nunique() > 1
