"""(a): the forward pass's time on the device, in plain Python and under the profiler, by case."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from workflow_src.answers.among import Among, among
from workflow_src.answers.answer import OpeningRow
from workflow_src.answers.example import example
from workflow_src.answers.forward_time.agreement import (
    UNTOLD,
    Agree,
    agreement,
    agrees,
    untold,
)
from workflow_src.answers.forward_time.compiled import NOT_COMPILED, Compiled, compiled
from workflow_src.answers.forward_time.pairs import outside, pairs
from workflow_src.answers.forward_time.steps import in_brackets, one_by_one, steps
from workflow_src.answers.launch_bound import Limit, limit, us_per_launch
from workflow_src.answers.left_out import NOTHING_KNOWN, left_out
from workflow_src.answers.marks import ALONE, CAPPED
from workflow_src.answers.matrix import in_columns, matrices
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import PhaseTimes, phase_times
from workflow_src.common import words
from workflow_src.paper.value import Cell, Joined, Marked, Ranged, Value, median, ratio, spread

PHASE = "forward"
DOUBTFUL = "\N{REFERENCE MARK}"
BOUND = "\N{DAGGER}"
"""Stands behind the plain time of cases of short kernels; twice where the device waits, too."""


@dataclass(frozen=True)
class ForwardTime:
    """What (a) found.

    `passes` have device time per launch, how much longer the profiled step is, and what a replay as
    a CUDA graph saves; `outside` has the cases whose plain time the study profiler's contradict.
    `every`: all cases of which agreement can be told; `bound`: those of short kernels, by the run's
    `limit`; `long`: those of longer ones; `untold`: how many others. `matrices` have device, plain
    and profiled time in a cell, `summary` a row per quantity and a column per precision.
    """

    cases: tuple[PhaseTimes, ...]
    limit: Limit
    every: Among
    long: Among
    bound: Among
    untold: Value
    matrices: tuple[pd.DataFrame, ...]
    summary: pd.DataFrame
    example: pd.DataFrame
    opening: tuple[OpeningRow, ...]
    left_out: pd.DataFrame = field(default_factory=pd.DataFrame)
    passes: tuple[pd.DataFrame, ...] = ()
    outside: pd.DataFrame = field(default_factory=pd.DataFrame)
    steps: pd.DataFrame = field(default_factory=pd.DataFrame)
    compiled: Compiled = NOT_COMPILED

    @property
    def together(self) -> bool:
        """Whether the table of steps has means over several processes, medians in brackets."""
        return any(in_brackets(cell) for cell in self.steps.to_numpy().ravel())

    @property
    def apart(self) -> bool:
        """Whether the table of steps has means of several processes, one by one."""
        return any(one_by_one(cell) for cell in self.steps.to_numpy().ravel())


def result(tables: Tables) -> ForwardTime:
    """Answer (a) from timings, ranges, captures and, where there are any, ledger, environments.

    What the profiler costs is by pairs of processes where the study `profiler` has some.
    """
    times = {case: _times(tables, case) for case in tables.cases}
    cases, chosen = tuple(times.values()), example(tables)
    columns = in_columns(tables.cases, times)
    agree = {case: agrees(tables, each) for case, each in times.items()}
    below, us = limit(tables), {each.case: us_per_launch(tables, each) for each in cases}
    bound = {case for case in times if below.bound(us[case])}
    return ForwardTime(
        cases=cases,
        limit=below,
        every=agreement(cases, agree),
        long=agreement([each for each in cases if us[each.case] and each.case not in bound], agree),
        bound=agreement([times[case] for case in times if case in bound], agree),
        untold=untold(cases, agree),
        matrices=matrices(tables.cases, lambda case: cell(times[case], case in bound)),
        summary=summary(columns, bound, agree),
        example=by_hand(times[chosen]) if chosen else pd.DataFrame(),
        opening=opening(columns, agree),
        left_out=left_out(tables, {case: _why_not(each, agree) for case, each in times.items()}),
        outside=outside(tables, cases),
        passes=matrices(tables.cases, lambda case: kernels_cell(times[case], us[case])),
        steps=steps(tables),
        compiled=compiled(tables),
    )


def _times(tables: Tables, case: CaseKey) -> PhaseTimes:
    return replace(phase_times(tables, case, PHASE), pairs=pairs(tables, case.case))


def _why_not(times: PhaseTimes, agree: Agree) -> str:
    """Why it can't be told of a case whether its times agree; "ok" if it can."""
    if agree[times.case] is not None:
        return "ok"
    if times.overhead is not None:
        return UNTOLD[times.alone]
    return _state(times) or times.doubt or NOTHING_KNOWN


def _state(times: PhaseTimes) -> str:
    """Why a case has not both times; "" if it has."""
    states = [state for state in (times.state, times.profiled_state) if state != "ok"]
    return states[0] if states else ""


def cell(times: PhaseTimes, bound: bool) -> Cell:
    """Device, plain and profiled time, with their marks; or why there is none of them."""
    if not (times.busy or times.plain or times.profiled):
        return words.STATES[_state(times)]
    ends = (times.fastest, times.slowest)
    plain = Joined(ends, by="\N{EN DASH}") if all(ends) else times.plain_told
    return Joined((times.busy, Marked(plain, marks(times, bound)), times.profiled))


def marks(times: PhaseTimes, bound: bool) -> str:
    """The marks of a plain time."""
    daggers = BOUND * (1 + times.waits) if bound else ""
    doubts = {CAPPED: times.power_limited, DOUBTFUL: not times.comparable}
    others = {ALONE: times.of_one, **doubts}
    return daggers + "".join(sign for sign, there in others.items() if there)


def saved_cell(times: PhaseTimes) -> Cell:
    """The share that a replay saves, of several processes the least and the most; or why none."""
    if times.saved is None:
        return words.STATES[times.replay_state] if times.replay_state not in ("", "ok") else None
    ends = (times.saved_least, times.saved_most)
    return Joined(ends, by=" to ") if all(ends) else Marked(times.saved, ALONE)


def kernels_cell(times: PhaseTimes, us: Value | None) -> Cell:
    """Device time per launch, how much longer the profiled step is, and what a replay saves."""
    cells = (us, times.longer, saved_cell(times))
    return Joined(cells, " / ") if us or cells[-1] else None


def replay_over_device(times: PhaseTimes) -> Value | None:
    """How many times its device time a replay takes: the work without a launch for each kernel."""
    return ratio(times.replayed, times.busy, "near_one", "replayed / device")


def summary(
    columns: dict[str, list[PhaseTimes]], bound: Collection[CaseKey], agree: Agree
) -> pd.DataFrame:
    """What the cases of each precision have in common: medians, with the least and the most."""
    rows: dict[str, list[Cell]] = {
        "cases that agree within 10 %, of those told": [
            agreement(mine, agree).cell for mine in columns.values()
        ],
        "cases of short kernels": [
            _among_launched([each for each in mine if not each.case.on_cpu], bound)
            for mine in columns.values()
        ],
        "share of plain time for which the device works": [
            spread([each.working for each in mine]) for mine in columns.values()
        ],
        "profiled longer than plain by": [
            spread([each.longer for each in mine]) for mine in columns.values()
        ],
        "replayed / device time": [
            spread([replay_over_device(each) for each in mine]) for mine in columns.values()
        ],
        "share of the plain time that a replay saves": [
            spread([each.saved for each in mine]) for mine in columns.values()
        ],
    }
    lines = [[name, *cells] for name, cells in rows.items() if any(cells)]
    return pd.DataFrame(lines, columns=["median (least to most)", *columns], dtype="object")


def by_hand(times: PhaseTimes) -> pd.DataFrame:
    """The times of one case, in ms."""
    rows: dict[str, Cell] = {
        "device time": times.busy,
        "replayed as one graph": times.replayed,
        "plain Python": Ranged(times.plain_told, times.fastest, times.slowest)
        if times.plain
        else None,
        "under the profiler": times.profiled,
        "profiled / plain, over pairs of processes": spread(times.pairs),
    }
    lines = [[name, cell] for name, cell in rows.items() if cell]
    heads = [times.case.case, "ms (fastest to slowest process)"]
    return pd.DataFrame(lines, columns=heads, dtype="object")


def _among_launched(mine: Sequence[PhaseTimes], bound: Collection[CaseKey]) -> Cell:
    return among([each.busy for each in mine], [each.case in bound for each in mine]).cell


def opening(columns: dict[str, list[PhaseTimes]], agree: Agree) -> tuple[OpeningRow, ...]:
    """The rows of (a) in the report's table of medians."""
    rows: dict[str, dict[str, Cell]] = {
        "(a) profiled within 10 % of plain": {
            name: agreement(mine, agree).cell for name, mine in columns.items()
        },
        "forward: device works, of plain time": {
            name: median(each.working for each in mine) for name, mine in columns.items()
        },
    }
    return tuple(OpeningRow(label, cells) for label, cells in rows.items())
