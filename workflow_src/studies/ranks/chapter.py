"""What communication costs each way of training, and how near predictions came."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import pandas as pd

from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined, Marked, Value
from workflow_src.studies.lines import (
    Line,
    in_gib,
    lines,
    most,
    number,
    out_of,
    shown,
    spread,
    unmeasured,
    where,
)
from workflow_src.studies.ranks.details import Details, details
from workflow_src.studies.ranks.points import ALL_REDUCE
from workflow_src.studies.ranks.way import NAMES, PEAKS, Way, case_name, off, ways_of
from workflow_src.studies.study_chapter import StudyChapter

NEAR = 0.03
"""A predicted time or peak is right within this share."""


@dataclass(frozen=True)
class Ranks:
    """What the study found.

    error: the largest difference of a step's gradients from one process's. working: the device's
    share of the step without communication, by case. foretold, fitted: how many predicted steps,
    of which cases that don't wait for launches, and how many peaks are right within NEAR.
    elsewhere: said of all-reduces alone, if known to be of no host of the ways foretold.
    """

    ways: tuple[Way, ...]
    error: Value | None
    working: Cell
    foretold: Cell
    fitted: Cell
    elsewhere: str
    steps: pd.DataFrame
    details: Details
    missing: pd.DataFrame


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Ranks:
    """What the study's table says; it isn't held against the run's ceilings."""
    every = lines(table, "ranks")
    names = (ALL_REDUCE, "training", "collective")
    reduced, trained, collectives = (where(every, measurement=name) for name in names)
    ways = ways_of(trained)
    judged = [way for way in ways if not way.waits]
    peaks = [each for way in ways for name in PEAKS if (each := off(way.line, name))]
    return Ranks(
        ways=tuple(ways),
        error=most(way.line.measured("gradient_error", "error") for way in ways),
        working=_working(ways),
        foretold=_foretold(judged),
        fitted=out_of(_near(peaks), peaks),
        elsewhere=_elsewhere(reduced, [way.line for way in judged]),
        steps=_steps(ways),
        details=details(ways, reduced, collectives),
        missing=unmeasured([*reduced, *trained], _name),
    )


def _working(ways: Sequence[Way]) -> Cell:
    """ "98 % in 2.7B fp32, 59 % in 2.7B bf16"."""
    found = {way.case: way.working for way in ways if way.working}
    parts = [Joined((share, f"in {case}"), by=" ") for case, share in found.items()]
    return Joined(tuple(parts), by=", ") if parts else None


def _foretold(ways: Sequence[Way]) -> Cell:
    """ "5 of 6 steps of 2.7B fp32"; None without a prediction."""
    found = [(way.case, each) for way in ways if (each := off(way.line, "step_ms"))]
    times, cases = [each for _, each in found], ", ".join(dict.fromkeys(case for case, _ in found))
    return Joined((out_of(_near(times), times), f"steps of {cases}"), by=" ") if times else None


def _elsewhere(reduced: Sequence[Line], trained: Sequence[Line]) -> str:
    ours, theirs = ({line.text("host_id") for line in every} - {""} for every in (reduced, trained))
    return " (of another host)" if ours and theirs and ours.isdisjoint(theirs) else ""


def _steps(ways: Sequence[Way]) -> pd.DataFrame:
    """A row per way; of each case the step, what nothing hides of communication, and the peak."""
    rows: dict[str, dict[str, Cell]] = {}
    for way in ways:
        row = rows.setdefault(way.name, {"gradients are averaged by": way.name})
        exposed, whole = (way.line.value(f"{n}_ms", "ms") for n in ("exposed", "communication"))
        row[f"{way.case}, ms"] = way.line.times if way.ms else way.line.state
        hidden = Joined((exposed, whole), by=" of ") if exposed and number(whole) else None
        row[f"{way.case}: nothing hides, ms"] = hidden
        # The larger of the peaks before and in the optimizer's part.
        row[f"{way.case}: peak, GiB"] = in_gib(most(way.line.value(n, "MiB") for n in PEAKS[1:]))
    return shown(list(rows.values()))


def _near(offs: Sequence[Value]) -> list[Value]:
    return [each for each in offs if abs(each.number) <= NEAR]


def _name(line: Line) -> str:
    if line.text("measurement") == ALL_REDUCE:
        return "all-reduce alone"
    return f"{case_name(line)}, {NAMES.get(line.text('way'), line.text('way'))}"


LITTLE = 1.05
"""Communication costs little where the best way's step takes at most so much of one without it."""


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    WRONG = (
        "That can't be told: after {wrong}, gradients are not those of one process on the whole "
        "batch (off by {error} of them at most)."
    )
    LITTLE = (
        "Little with the best way: in one run, a training step of {cases} takes {least} as long as "
        "without communication ({best}), with the worst way {most} ({worst})."
    )
    MUCH = (
        "Much even with the best way: in one run, a training step of {cases} takes {least} as long "
        "as without communication ({best}), with the worst way {most} ({worst})."
    )
    WAITS = (
        "That can't be told: without communication, the device works for {working} of the step, "
        "and a step that waits for launches tells little of what else it waits for."
    )
    ON_A_CPU = (
        "A CPU doesn't show that: all ways give the gradients of one process on the whole batch "
        "(off by {error} of them at most), and no more is to be learned from processes that share "
        "its cores."
    )
    CANT_TELL = "That can't be told: no step without communication was measured beside one with it."


def headline(result: Ranks) -> Headline:
    """The verdict on a result, with its numbers."""
    cases = _by_case(result.ways)
    cases = [case for case in cases if not case[0].waits] or cases
    best, worst = ([pick(case, key=_over) for case in cases] for pick in (min, max))
    slots: dict[str, Cell] = {
        "wrong": _names([way for way in result.ways if way.wrong]),
        "error": result.error,
        "cases": " or ".join(case[0].case for case in cases),
        "working": result.working,
        "least": _hundredths(best),
        "best": _names(best),
        "most": _hundredths(worst),
        "worst": _names(worst),
    }
    verdict = _verdict(result, best)
    return Headline(verdict, verdict.value, slots)


def _verdict(result: Ranks, best: Sequence[Way]) -> Verdict:
    if any(way.wrong for way in result.ways):
        return Verdict.WRONG
    if not best:
        return Verdict.CANT_TELL
    if not any(way.line.text("gpu") for way in best):
        return Verdict.ON_A_CPU if result.error else Verdict.CANT_TELL
    if best[0].waits:
        return Verdict.WAITS
    return Verdict.LITTLE if all(_over(way) <= LITTLE for way in best) else Verdict.MUCH


def _by_case(ways: Sequence[Way]) -> list[list[Way]]:
    """The ways of each case that communicate and have a time beside that without."""
    found: dict[str, list[Way]] = {}
    for way in ways:
        if way.communicates and way.over:
            found.setdefault(way.case, []).append(way)
    return list(found.values())


def _hundredths(ways: Sequence[Way]) -> Cell:
    """How many times as long steps take, with the digits that times of three digits bear."""
    over = [replace(way.over, unit="hundredths") for way in ways if way.over]
    return Marked(spread(over), " x")


def _over(way: Way) -> float:
    return number(way.over)


def _names(ways: Sequence[Way]) -> Cell:
    return Joined(tuple(dict.fromkeys(way.name for way in ways)), by=" or ")


CHAPTER = StudyChapter(
    "Two GPUs: what communication costs",
    "What does communication cost a training step on two GPUs, and what hides it?",
    result,
    headline,
)
