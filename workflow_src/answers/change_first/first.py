"""What comes first in each case, by phase."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workflow_src.answers.change_first.measured import Run, measured, remedies_of
from workflow_src.answers.change_first.predicted import predicted
from workflow_src.answers.change_first.saving import (
    Choice,
    Saving,
    choice,
    merged,
    told_to_train,
)
from workflow_src.answers.intervals import spread_of
from workflow_src.answers.left_out import NOTHING_KNOWN
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import PhaseTimes, phase_times
from workflow_src.common.case import PHASES


@dataclass(frozen=True)
class OfPhase:
    """What remedies save of a phase of a case.

    state: why nothing is known; "ok" otherwise.
    """

    times: PhaseTimes
    state: str
    savings: tuple[Saving, ...]
    choice: Choice

    def by(self, name: str) -> Saving | None:
        """What some remedies save, by their name; None if nothing is known of them."""
        return next((each for each in self.savings if each.name == name), None)


@dataclass(frozen=True)
class First:
    """What comes first in a case, by phase."""

    case: CaseKey
    phases: Mapping[str, OfPhase]


def firsts(tables: Tables) -> dict[CaseKey, First]:
    """What comes first in each case."""
    run = _run(tables, tables.cases)
    return {case: _first(run, case) for case in tables.cases}


def first_of_case(tables: Tables, case: CaseKey) -> First:
    """What comes first in one case; other cases count where `tables` has them."""
    near = [each for each in tables.cases if remedies_of(each, case, PHASES[-1])]
    return _first(_run(tables, [case, *near]), case)


def _run(tables: Tables, cases: Iterable[CaseKey]) -> Run:
    times = {(case, phase): phase_times(tables, case, phase) for case in cases for phase in PHASES}
    return Run(tables, times, spread_of(times.values()))


def _first(run: Run, case: CaseKey) -> First:
    return First(case, {phase: of_phase(run, case, phase) for phase in PHASES})


def of_phase(run: Run, case: CaseKey, phase: str) -> OfPhase:
    """What remedies save of a phase, and which comes first."""
    times = run.times[case, phase]
    if times.state != "ok" or not times.comparable:
        state = "not_comparable" if times.state == "ok" else times.state
        return OfPhase(times, state, (), Choice())
    found = merged(
        *(
            [told_to_train(each, case.optimizer, phase) for each in known]
            for known in (measured(run, case, phase), predicted(run.tables, times))
        )
    )
    return OfPhase(times, "ok" if found else NOTHING_KNOWN, found, choice(found))
