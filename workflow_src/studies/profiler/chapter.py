"""What the profiler costs: a forward pass with it over one without, by pairs of processes."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Value, median, ratio
from workflow_src.studies.lines import (
    Line,
    grouped,
    lines,
    out_of,
    ranged,
    shown,
    spread,
    unmeasured,
)
from workflow_src.studies.study_chapter import StudyChapter

FEWEST = 3
"""With fewer pairs, that all lie on one side says little."""


@dataclass(frozen=True)
class Pairs:
    """The pairs of one case: times as long with the profiler, a value per pair."""

    case: str
    ratios: tuple[Value, ...]
    plain: tuple[Value, ...]
    profiled: tuple[Value, ...]

    @property
    def slower(self) -> bool:
        """Whether the profiler makes the pass longer in each of FEWEST or more pairs."""
        return len(self.ratios) >= FEWEST and all(each.number > 1 for each in self.ratios)


@dataclass(frozen=True)
class Profiler:
    """What the study found: its cases, and a table with a row for each."""

    cases: tuple[Pairs, ...]
    costs: pd.DataFrame
    missing: pd.DataFrame


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Profiler:
    """What the study's table says; it isn't held against the run's ceilings."""
    every = lines(table, "profiler")
    cases = tuple(of_case(mine) for mine in grouped((each for each in every if each.ok), "case"))
    return Profiler(
        cases=cases,
        costs=shown([_row(each) for each in cases]),
        missing=unmeasured(every, lambda line: line.text("case")),
    )


def of_case(mine: Sequence[Line]) -> Pairs:
    """The pairs of one case, from its lines."""
    plain = [line.value("plain_ms", "ms") for line in mine]
    profiled = [line.value("profiled_ms", "ms") for line in mine]
    ratios = [ratio(*pair, "times") for pair in zip(profiled, plain, strict=True)]
    known = (tuple(each for each in found if each) for found in (ratios, plain, profiled))
    return Pairs(mine[0].text("case"), *known)


def _row(pairs: Pairs) -> dict[str, Cell]:
    return {
        "forward pass of": pairs.case,
        "pairs": len(pairs.ratios),
        "without, ms": spread(pairs.plain),
        "with the profiler, ms": spread(pairs.profiled),
        "times as long, median of pairs (least to most)": ranged(pairs.ratios),
        "longer in each pair": "yes" if pairs.slower else "not shown",
    }


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    COSTS = (
        "Cases in which the profiler makes the forward pass longer in each pair of processes: "
        "{slower}; there it takes a median of {times} as long."
    )
    NOT_SHOWN = "In no case does the profiler make the pass longer in each of three or more pairs."
    CANT_TELL = "No pair of processes was measured."


def headline(result: Profiler) -> Headline:
    """The verdict on a result, with its numbers."""
    medians = [median(each.ratios) for each in result.cases]
    slower = [each for each, case in zip(medians, result.cases, strict=True) if case.slower]
    slots = {
        "slower": out_of([each for each in slower if each], [each for each in medians if each]),
        "times": spread(slower),
    }
    shown = Verdict.COSTS if slower else Verdict.NOT_SHOWN
    verdict = shown if result.cases else Verdict.CANT_TELL
    return Headline(verdict, verdict.value, slots)


CHAPTER = StudyChapter(
    "Profiler: what watching costs",
    "How much longer does a forward pass take because it is profiled?",
    result,
    headline,
)
