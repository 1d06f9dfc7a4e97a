"""What first steps cost, how many an average must leave out, and what their time goes to."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Marked, Value, difference, median, ratio
from workflow_src.studies.lines import (
    Line,
    by_host,
    conditions,
    grouped,
    lines,
    number,
    out_of,
    shown,
    spread,
    unmeasured,
    where,
)
from workflow_src.studies.study_chapter import StudyChapter
from workflow_src.studies.warmup.cause_tables import Cause, cause, name

MEAN_WITHIN = 0.05
"""A warm-up is enough if no mean then exceeds a settled step by more than this share.

A mean that is lower by more can't come from slow first steps, which only raise it; how far means
are below, the headline says.
"""

FIRST = "first / settled"
"""The column that says how many times as long as a settled step the first one takes."""

UNSETTLED = " °"
"""Marks what is of a run that doesn't settle."""

CONDITIONS = {"context": "context", "batch": "batch", "samples": "steps measured"}
"""The columns that say what a run was of, in words."""


@dataclass(frozen=True)
class WarmUp:
    """What the study found.

    `first`: how many times as long as settled ones first steps take. `enough`: the fewest warm-up
    steps tried from which on no mean of a run that settles is over MEAN_WITHIN above its settled
    step; None if none are enough. Of the runs with that many or more: `settled`, how many of them
    settle, and `means`, how far the means of these are off. `worst`: of the runs with fewer
    (with the most, if none are enough), the one whose mean is highest. `phases` has a row per size
    and phase, `runs` one per run; `cause` is of points that record it. `conditions`: what a step
    is, and how many were measured.
    """

    first: Cell
    enough: Value | None
    settled: Cell
    means: Cell
    worst: Line | None
    conditions: Cell
    phases: pd.DataFrame
    runs: pd.DataFrame
    cause: Cause
    unmeasured: pd.DataFrame


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> WarmUp:
    """What the study's table says."""
    every = lines(table, "warmup")
    runs = where(every, sweep="")
    settling = [run for run in runs if run.has("settled_after_steps") and excess(run)]
    enough, found = fewest_enough(settling), phases(runs)
    left, kept = (_with_at_least(enough, some) for some in (runs, settling))
    return WarmUp(
        first=spread(found.get(FIRST, pd.Series(dtype="object")).dropna()),
        enough=enough,
        settled=out_of(_means(kept), _means(left)),
        means=spread(excess(run) for run in kept),
        worst=worst(settling, enough),
        conditions=conditions(runs, CONDITIONS),
        phases=found,
        runs=shown([_run(line) for line in runs]),
        cause=cause([line for line in every if line.ok]),
        unmeasured=unmeasured(every, name),
    )


def excess(run: Line) -> Value | None:
    """The share by which a run's mean is above its settled step; None if it wasn't measured."""
    mean, settled = run.measured("mean_ms"), run.measured("settled_ms")
    above = difference(mean, settled) if run.has("warmup_steps") else None
    return ratio(above, settled, "change", "mean / settled - 1")


def _with_at_least(steps: Value | None, runs: Sequence[Line]) -> list[Line]:
    return [run for run in runs if run.has("warmup_steps") and _steps(run) >= number(steps)]


def _means(runs: Sequence[Line]) -> list[Value]:
    return [mean for run in runs if (mean := run.measured("mean_ms"))]


def fewest_enough(runs: Sequence[Line]) -> Value | None:
    """The fewest warm-up steps from which on no mean is above MEAN_WITHIN."""
    least = None
    for steps in sorted({_steps(run) for run in runs}, reverse=True):
        mine = [run for run in runs if _steps(run) == steps]
        if any(_excess(run) > MEAN_WITHIN for run in mine):
            break
        least = mine[0].value("warmup_steps", "count")
    return least


def worst(runs: Sequence[Line], enough: Value | None) -> Line | None:
    """The run whose mean is highest, of those with fewer warm-up steps than are enough.

    Of those with the most steps, if none tried are enough.
    """
    most = max(map(_steps, runs), default=0)
    here = [run for run in runs if (_steps(run) < enough.number if enough else _steps(run) == most)]
    return max(here, key=_excess, default=None)


def phases(runs: Sequence[Line]) -> pd.DataFrame:
    """A row per size and phase: medians over runs of one host, and how far each mean is off."""
    tried = sorted({_steps(run) for run in runs if run.has("warmup_steps")})
    return shown([_phase(group, tried) for group in grouped(runs, "size", "phase")])


def _phase(group: Sequence[Line], tried: Sequence[float]) -> dict[str, Cell]:
    runs = [run for run in group if run.ok]
    # A first step is as long as its host is slow; a mean is held against its own run's steps.
    same = next(iter(by_host(runs)), [])
    first, settled = (
        median(run.value(f"{each}_ms", "ms") for run in same) for each in ("first_step", "settled")
    )
    means = {f"mean after {steps:.0f}": _mean([r for r in runs if _steps(r) == steps])
             for steps in tried}  # fmt: skip
    cells: dict[str, Cell] = {
        "size, phase": name(group[0]),
        "first step, ms": first if runs else group[0].state,
        "settled step, ms": settled,
        FIRST: ratio(first, settled, "times", "first / settled"),
        "settled after, steps": _after(runs),
    }
    return cells | means


def _after(runs: Sequence[Line]) -> Cell:
    """The fewest to the most steps after which runs settle; marked where one doesn't."""
    found = spread(run.value("settled_after_steps", "count") for run in runs)
    settle = all(run.has("settled_after_steps") for run in runs)
    return found if settle or not found else Marked(found, UNSETTLED)


def _mean(runs: Sequence[Line]) -> Cell:
    """How far means are from a settled step, by median; marked where no run settles."""
    settling = [run for run in runs if run.has("settled_after_steps")]
    found = median(excess(run) for run in settling or runs)
    return found if settling or not found else Marked(found, UNSETTLED)


def _run(line: Line) -> dict[str, Cell]:
    never = "not within the run" if line.ok else None
    return {
        "size, phase": name(line),
        "context": line.whole("context"),
        "warm-up steps": line.value("warmup_steps", "count"),
        "first step, ms": line.value("first_step_ms", "ms") if line.ok else line.state,
        "settled step, ms": line.value("settled_ms", "ms"),
        "median, ms": line.times,
        "mean, ms": line.value("mean_ms", "ms"),
        "mean over settled": excess(line),
        "steps until settled": line.value("settled_after_steps", "count") or never,
    }


def _steps(run: Line) -> float:
    return run.amount("warmup_steps")


def _excess(run: Line) -> float:
    return number(excess(run))


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    ALWAYS = (
        "By medians, first steps take {first} a settled one's time. Even with the fewest tried "
        "left out, {enough}, means of the {settled} runs that settle are {means} off it."
    )
    ENOUGH = (
        "By medians, first steps take {first} a settled one's time. With {enough} or more left "
        "out, means of the {settled} runs that settle are {means} off it; with fewer, up to "
        "{worst} ({where})."
    )
    NOT_ENOUGH = (
        "By medians, first steps take {first} a settled one's time. With each number of them "
        "left out, some mean is over 5 % above it; with {most}, up to {worst} ({where})."
    )
    CANT_TELL = "No measured run settles, so how many steps to leave out can't be told."


def headline(result: WarmUp) -> Headline:
    """The verdict on a result, with its numbers."""
    worst, verdict = result.worst, _verdict(result)
    slots = {
        "first": result.first,
        "enough": result.enough,
        "settled": result.settled,
        "means": result.means,
        "worst": worst and excess(worst),
        "most": worst and worst.value("warmup_steps", "count"),
        "where": worst and name(worst),
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(result: WarmUp) -> Verdict:
    if result.enough is None:
        return Verdict.NOT_ENOUGH if result.worst else Verdict.CANT_TELL
    # Without fewer steps than are enough, these are the fewest that were tried.
    return Verdict.ENOUGH if result.worst else Verdict.ALWAYS


CHAPTER = StudyChapter(
    "Warm-up: what the first steps of a process cost",
    "How much slower are the first steps of a process, and how many must an average leave out?",
    result,
    headline,
)
