"""What remedies were measured to save: by a replay, in another case, and in the study levers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from workflow_src.answers.change_first.saving import (
    Known,
    Saving,
    saving,
    told_to_train,
    touching,
)
from workflow_src.answers.conditions import elsewhere
from workflow_src.answers.intervals import (
    Interval,
    Spread,
    at_speed_of,
    plain_time,
    replayed_time,
)
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import PhaseTimes
from workflow_src.common.case import ATTENTIONS, COMPILED, EXECUTIONS, OPTIMIZERS
from workflow_src.common.precisions import PRECISIONS
from workflow_src.common.remedies import GRAPH
from workflow_src.paper.value import cell_of

Times = Mapping[tuple[CaseKey, str], PhaseTimes]
"""The times of cases by case and phase."""

HOST_US = "host_operation_us_before"

LEVERS = "studies/levers"
_COLUMNS = """case variant remedies batches phase status median_ms fastest_process_ms
slowest_process_ms processes error_state gradients_error"""
LEVERS_COLUMNS = frozenset(_COLUMNS.split())
NOTHING_TIMED = pd.DataFrame(columns=sorted(LEVERS_COLUMNS))
TIMED = ("median_ms", "fastest_process_ms", "slowest_process_ms")
PREDICTED = ("predicted_ms", "predicted_low", "predicted_high")
PLAIN = "plain"

BETTER = {
    "precision": PRECISIONS,
    "attention": ("eager", *ATTENTIONS),
    "optimizer": OPTIMIZERS,
    "execution": EXECUTIONS,
}
"""The values of each axis from plain to better: a remedy is named after the one that a case has.

What transformers calls eager is attention written out.
"""

REMEDY = {COMPILED: "compile"}
"""The remedy of a value that isn't its name."""

SAME = ("size", "context", "batch", "device")
"""What two cases have in common of which one is the other with remedies."""


@dataclass(frozen=True)
class Run:
    """What measured savings are read from."""

    tables: Tables
    times: Times
    spread: Spread | None


def measured(run: Run, case: CaseKey, phase: str) -> Iterator[Saving]:
    """What was measured of a phase: in the study first, whose times all have one plain time beside
    them, then by replay, then in other cases.
    """
    times = run.times[case, phase]
    plain = plain_time(run.tables, times, run.spread)
    if plain is None:
        return
    yield from _studied(run.tables, times)
    yield from _replay(run, times, plain)
    yield from _in_other_cases(run, times, plain)
    yield from _studied_elsewhere(run, times, plain)


def _replay(run: Run, times: PhaseTimes, plain: Interval) -> Iterator[Saving]:
    replayed = replayed_time(run.tables, times)
    known = Known(True, times.processes, times.power_limited)
    found = replayed and saving([GRAPH], plain, replayed, known)
    if found:
        yield found


def _in_other_cases(run: Run, times: PhaseTimes, plain: Interval) -> Iterator[Saving]:
    """Cases that differ in remedies alone: in plain time, and replayed together with a graph.

    Plain times of two hosts don't compare, but replays do, which no host slows down.
    """
    case, phase = times.case, times.phase
    mine = run.tables.of("environments", case.case)
    for (other, of), its in run.times.items():
        names = remedies_of(other, case, phase) if of == phase else ()
        if not names or not its.comparable:
            continue
        both = (times, its)
        known = Known(True, min(of.processes for of in both), any(of.power_limited for of in both))
        host = run.tables.of("environments", other.case)
        time = None if elsewhere(host, mine) else plain_time(run.tables, its, run.spread)
        theirs, ours = (cell_of(each, "environments", HOST_US, "us") for each in (host, mine))
        time = time and at_speed_of(time, its, theirs, ours)
        replayed = replayed_time(run.tables, its)
        found = time and saving(names, plain, time, known)
        with_graph = replayed and saving([*names, GRAPH], plain, replayed, known)
        yield from filter(None, (found, with_graph))


def remedies_of(other: CaseKey, case: CaseKey, phase: str) -> tuple[str, ...]:
    """The remedies with which a case is the `other`; empty if it isn't that."""
    if any(getattr(case, axis) != getattr(other, axis) for axis in SAME):
        return ()
    found = []
    for axis, order in BETTER.items():
        mine, its = getattr(case, axis), getattr(other, axis)
        if mine == its:
            continue
        if mine not in order or its not in order or order.index(its) < order.index(mine):
            return ()
        found.append(REMEDY.get(its, its))
    return touching(found, phase)


def _studied(tables: Tables, times: PhaseTimes) -> Iterator[Saving]:
    """The study's variants, of its own plain time, which it took in the same minutes."""
    rows = _rows_of_study(tables, times.case, times.phase)
    plain = rows[rows["variant"] == PLAIN]
    own = _interval(plain)
    for names, variant, time in _variants(rows, times.phase) if own else ():
        processes = min(_processes(variant), _processes(plain))
        found = own and saving(names, own, time, Known(True, processes, studied=True))
        if found:
            yield replace(found, predicted=_interval(variant, PREDICTED))


def _studied_elsewhere(run: Run, times: PhaseTimes, plain: Interval) -> Iterator[Saving]:
    """The study's graphs of cases in a better precision, otherwise this one, of its plain time.

    As with replays, no host slows a graph down; one that leaves the optimizer to the host is none.
    """
    phase = times.phase
    for other in run.tables.cases:
        more = remedies_of(other, times.case, phase)
        same = more and set(more) <= set(PRECISIONS)
        rows = _rows_of_study(run.tables, other, phase) if same else NOTHING_TIMED
        for names, variant, time in _variants(rows, phase):
            known = Known(True, min(times.processes, _processes(variant)), times.power_limited)
            found = saving([*more, *names], plain, time, known) if GRAPH in names else None
            if found and told_to_train(found, other.optimizer, phase).trains:
                yield found


def _rows_of_study(tables: Tables, case: CaseKey, phase: str) -> pd.DataFrame:
    """What the study timed of a phase of a case.

    Left out are variants whose gradients aren't finite, and more batches in a step, which save no
    time of the same step.
    """
    table = tables[LEVERS] if LEVERS in tables.frames else pd.DataFrame()
    if not set(table) >= LEVERS_COLUMNS:
        return NOTHING_TIMED
    here = (table["case"] == case.case) & (table["phase"] == phase)
    broken = (table["error_state"] == "ok") & table["gradients_error"].isna()
    return table[here & (table["status"] == "ok") & ~broken & ~(table["batches"] > 1)]


def _variants(
    rows: pd.DataFrame, phase: str
) -> Iterator[tuple[tuple[str, ...], pd.DataFrame, Interval]]:
    """The variants of the study that change a phase: their remedies, rows and times."""
    for _, variant in rows[rows["variant"] != PLAIN].groupby("variant", sort=False):
        names = touching(str(variant["remedies"].iloc[0]).split("+"), phase)
        time = _interval(variant)
        if names and time:
            yield names, variant, time


def _processes(rows: pd.DataFrame) -> int:
    return int(rows["processes"].min())


def _interval(rows: pd.DataFrame, columns: Sequence[str] = TIMED) -> Interval | None:
    """The time of a variant, from its fastest process to its slowest; or as it was predicted."""
    middle, low, high = (cell_of(rows, LEVERS, name) for name in columns)
    return Interval(middle, low or middle, high or middle) if middle else None
