"""The mean and the standard deviation of each phase's timed steps, beside its device time."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from workflow_src.answers.gemm_share.change import OPTIMIZER, by_part
from workflow_src.answers.kernels import captured, device_ms
from workflow_src.answers.marks import CAPPED
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import PhaseTimes, phase_times
from workflow_src.common import words
from workflow_src.common.case import PHASES
from workflow_src.paper.value import (
    Cell,
    Joined,
    Marked,
    Ranged,
    Rows,
    Value,
    cell_of,
    computed,
    difference,
    rows_of,
    spread,
    value,
)

BACKWARD, STEP = PHASES[1:]
PLUS_MINUS = " \N{PLUS-MINUS SIGN} "
BETWEEN = ", "
"""Stands between the means of processes."""

MEANS, STDS = "process_means_ms", "process_stds_ms"
"""The columns that tell each process apart; tables of older runs lack them."""


def steps(tables: Tables) -> pd.DataFrame:
    """The table of all phases, from timings, ranges, captures and kernels: a row per case."""
    cases = [case for case in tables.cases if len(tables.of("timings", case.case))]
    return pd.DataFrame([_row(tables, case) for case in cases], dtype="object")


def in_brackets(cell: Cell) -> bool:
    """Whether a cell of that table has medians of processes in brackets."""
    inner = cell.cell if isinstance(cell, Marked) else cell
    if not isinstance(inner, Ranged) or not isinstance(inner.value, Joined):
        return False
    return inner.least is not None


def one_by_one(cell: Cell) -> bool:
    """Whether a cell of that table has the means of several processes."""
    inner = cell.cell if isinstance(cell, Marked) else cell
    return isinstance(inner, Joined) and inner.by == BETWEEN


def _row(tables: Tables, case: CaseKey) -> dict[str, Cell]:
    """One case: each phase's timed steps and device time, then the optimizer's."""
    times = {phase: phase_times(tables, case, phase) for phase in PHASES}
    timed = {phase: tables.of("timings", case.case, phase) for phase in PHASES}
    row: dict[str, Cell] = {"case": case.case, "steps": _count(timed[PHASES[0]])}
    for phase, found in times.items():
        mean = _timed(found, timed[phase])
        row[words.PHASES[phase]] = Marked(mean, CAPPED) if found.power_limited else mean
        row[f"{words.PHASES[phase]}: device"] = found.busy
    device = optimizer_ms(tables, times[STEP])
    row["optimizer: difference"] = _optimizer(times, timed, device.number if device else 0)
    row["optimizer: device"] = device
    return row


def _optimizer(
    times: Mapping[str, PhaseTimes],
    timed: Mapping[str, pd.DataFrame],
    least_ms: float,
) -> Cell:
    """What a training step takes beyond forward + backward, of each process that is told apart.

    Else of the means, in two digits or whole ms, as a step of another process takes up to 1 %
    longer. None where the device waits in either, as the host's time is then in it, or where a
    difference is below `least_ms`, the device's own time, which no optimizer is.
    """
    if any(times[phase].waits and not times[phase].case.on_cpu for phase in (STEP, BACKWARD)):
        return None
    if each := _of_each(timed[STEP], timed[BACKWARD]):
        return spread(each) if min(one.number for one in each) >= least_ms else None
    step, before = (cell_of(timed[phase], "timings", "mean_ms") for phase in (STEP, BACKWARD))
    plain = difference(step, before, "of the means")
    return replace(plain, unit="two digits") if plain and plain.number >= least_ms else None


def _of_each(step: pd.DataFrame, before: pd.DataFrame) -> list[Value]:
    """How much longer the mean step is in each process; none if processes aren't told apart."""
    wholes, parts = _told_apart(step), _told_apart(before)
    if len(wholes) != len(parts):
        return []
    sources = (rows_of("timings", step), rows_of("timings", before))
    longer = (float(whole[0]) - float(part[0]) for whole, part in zip(wholes, parts, strict=True))
    made = (value(ms, "ms", *sources, formula="between phases, in one process") for ms in longer)
    return [each for each in made if each]


def optimizer_ms(tables: Tables, step: PhaseTimes) -> Value | None:
    """The device time (ms) of a training step's optimizer, as (d) and the case's table have it."""
    _, rows = captured(tables, step.case.case, STEP)
    return device_ms(by_part(rows).get(OPTIMIZER, rows.iloc[:0]))


def _count(timed: pd.DataFrame) -> Cell:
    """How many steps were timed: "10", or of several processes "3 x 10"."""
    every, processes = (
        cell_of(timed, "timings", name, "count") for name in ("samples", "processes")
    )
    if every is None or processes is None or processes.number <= 1:
        return every
    each = computed(every.number / processes.number, "count", "steps / processes", every, processes)
    return Joined((processes, each), " x ")


def _timed(times: PhaseTimes, timed: pd.DataFrame) -> Cell:
    """Mean and standard deviation, of each process if they are told apart; or why there is none."""
    if times.state != "ok":
        return words.STATES[times.state]
    if pairs := _told_apart(timed):
        source = rows_of("timings", timed)
        return Joined(tuple(_both(*pair, source) for pair in pairs), BETWEEN)
    mean = cell_of(timed, "timings", "mean_ms")
    return Ranged(Joined((mean, _std(timed)), PLUS_MINUS), times.fastest, times.slowest)


def _told_apart(timed: pd.DataFrame) -> list[tuple[str, str]]:
    """Mean and standard deviation of each of several processes; none if either isn't told."""
    means, stds = (
        str(timed[name].iloc[0]).split(";") if name in timed and len(timed) else []
        for name in (MEANS, STDS)
    )
    return list(zip(means, stds, strict=True)) if len(means) == len(stds) > 1 else []


def _both(mean: str, std: str, source: Rows) -> Cell:
    cells = (
        value(each, unit, source, formula="of one process")
        for each, unit in ((mean, "ms"), (std, "std_ms"))
    )
    return Joined(tuple(cells), PLUS_MINUS)


def _std(timed: pd.DataFrame) -> Value | None:
    """The standard deviation within a process: of several, the median one's share of the mean."""
    mean = cell_of(timed, "timings", "mean_ms")
    cv = cell_of(timed, "timings", "within_cv", "")
    if mean is None or cv is None:
        return cell_of(timed, "timings", "std_ms", "std_ms")
    return computed(mean.number * cv.number, "std_ms", "mean_ms * within_cv", mean, cv)
