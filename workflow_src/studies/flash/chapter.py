"""How fast an attention of one's own is, how right, and how near its ceilings, beside PyTorch's."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import final

import pandas as pd

from workflow_src.common import words
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined, Value, ratio
from workflow_src.studies.flash.ceilings import ceilings_table
from workflow_src.studies.flash.memory import memory_table
from workflow_src.studies.flash.named import PHASES, is_own, is_wrong, name
from workflow_src.studies.flash.tables import check, in_order, times_table, unmeasured_table
from workflow_src.studies.lines import Line, lines, shown, spread, where
from workflow_src.studies.study_chapter import StudyChapter

LONGEST = 4
"""How many of the longest contexts the headline is on: one alone may be an exception."""

HEAD_SIZE = 64
"""The head size of the section's table and the figure, where it was measured."""


@final
@dataclass(frozen=True)
class Shape:
    """What the passes of the section's table have in common."""

    precision: str
    head_size: int | None
    batch: int | None
    timed_by: str
    calls: Cell


@final
@dataclass(frozen=True)
class Contest:
    """The fastest of one's own and of PyTorch's, at the longest context where both have the phase.

    Without one of one's own: the fastest at the longest context. before: the pairs at contexts
    before it, of LONGEST with it.
    """

    phase: str
    context: int
    best: Line
    own: Line | None
    before: tuple["Contest", ...] = ()

    @property
    def times(self) -> Value | None:
        """How many times as long one's own takes."""
        return ratio(self.own and ms(self.own), ms(self.best), "times", "own / PyTorch's fastest")

    @property
    def longest(self) -> tuple["Contest", ...]:
        """This one and those before it, the shortest context first."""
        return *self.before, self


@dataclass(frozen=True)
class Flash:
    """What the study found.

    `contests`: of forward and of both passes, those that there are. `wrong`: one's own that isn't
    right, or "". `contexts`: ms by context, at one precision and head size; `times` all of them.
    `checks`: errors of each implementation; `memory`: peaks against formulas; `ceilings`: rates at
    the longest contexts.
    """

    shape: Shape | None
    contests: tuple[Contest, ...]
    wrong: str
    contexts: pd.DataFrame
    times: pd.DataFrame
    checks: pd.DataFrame
    memory: pd.DataFrame
    ceilings: pd.DataFrame
    unmeasured: pd.DataFrame


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Flash:
    """What the study's table says, and how near the run's ceilings its passes come."""
    every = lines(table, "flash")
    timed, checks = where(every, sweep="time"), where(every, sweep="check")
    here = shown_lines(timed)
    return Flash(
        shape=_shape(here),
        contests=tuple(filter(None, (_in_phase(here, phase) for phase in SHOWN_PHASES))),
        wrong=next((name(line) for line in checks if is_wrong(line)), ""),
        contexts=times_table(in_order(here, "context"), SHAPE[2:], SHOWN_PHASES, checks),
        times=times_table(in_order(timed, *SHAPE), SHAPE, PHASES),
        checks=shown([check(mine) for mine in in_order(checks, "precision", "implementation")]),
        memory=memory_table(timed),
        ceilings=ceilings_table(timed, lines(ceilings, "ceilings")),
        unmeasured=unmeasured_table(every),
    )


SHAPE = ("precision", "head_size", "context")
SHOWN_PHASES = ("forward", "forward_backward")
"""The phases of the section's table and headline."""


def ms(line: Line) -> Value | None:
    """The median time of a pass."""
    return line.value("median_ms", "ms")


def shown_lines(timed: Sequence[Line]) -> list[Line]:
    """The lines of the first precision with a time, at HEAD_SIZE or else the largest head size."""
    measured = [line for line in timed if line.ok and line.has("median_ms")]
    if not measured:
        return []
    precision = measured[0].text("precision")
    sizes = {line.amount("head_size") for line in where(measured, precision=precision)}
    size = HEAD_SIZE if HEAD_SIZE in sizes else max(sizes)
    of_size = [line for line in timed if line.amount("head_size") == size]
    return where(of_size, precision=precision)


def _shape(here: Sequence[Line]) -> Shape | None:
    measured = [line for line in here if line.ok]
    if not measured:
        return None
    by = ", ".join(dict.fromkeys(filter(None, (line.text("timed_by") for line in measured))))
    head_size, batch = (measured[0].whole(column) for column in ("head_size", "batch"))
    calls = spread(line.value("samples", "count") for line in measured)
    return Shape(measured[0].text("precision"), head_size, batch, by, calls)


def _in_phase(here: Sequence[Line], phase: str) -> Contest | None:
    """One's own against PyTorch's in a phase; None without a time of PyTorch's."""
    measured = [line for line in here if line.ok and line.text("phase") == phase and ms(line)]
    own = [line for line in measured if is_own(line)]
    others = [line for line in measured if line not in own]
    contexts = {line.amount("context") for line in others}
    both = contexts & {line.amount("context") for line in own}
    if not contexts:
        return None
    found = [
        Contest(phase, int(context), best, _fastest(own, context) if both else None)
        for context in sorted(both or contexts)[-LONGEST:]
        if (best := _fastest(others, context))
    ]
    return replace(found[-1], before=tuple(found[:-1])) if found else None


def _fastest(measured: Sequence[Line], context: float) -> Line | None:
    here = [line for line in measured if line.amount("context") == context]
    return min(here, key=lambda line: line.amount("median_ms"), default=None)


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    OWN = (
        "At context {contexts}, the {phase} of {own} takes {times} as long as that of PyTorch's "
        "fastest, in one process each: at {context}, {own_ms} against {best_ms} ms of {best}."
    )
    WRONG = (
        "{wrong} isn't right, and was not timed: the appendix says how far off it is. At context "
        "{context}, the fastest of PyTorch's is {best} with {best_ms} ms for the {phase}."
    )
    NO_OWN = (
        "At context {context}, the longest measured, the fastest of PyTorch's is {best} with "
        "{best_ms} ms for the {phase}; no attention of one's own was measured beside it."
    )
    CANT_TELL = "No attention of PyTorch's has a time, so which is fastest can't be told."


def headline(result: Flash) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict = _verdict(result)
    contests = _own(result) or result.contests[-1:]
    slots = _slots(contests[0]) if contests else {}
    return Headline(verdict, verdict.value, slots | {"wrong": result.wrong})


def _own(result: Flash) -> Sequence[Contest]:
    """The contests with one's own, forward first: a backward pass may loop in Python."""
    return [contest for contest in result.contests if contest.own]


def _slots(contest: Contest) -> dict[str, Cell]:
    return {
        "phase": words.PHASES_IN_PROSE[contest.phase],
        "context": contest.context,
        "best": name(contest.best),
        "best_ms": contest.best.time,
        "own": contest.own and name(contest.own),
        "own_ms": contest.own and contest.own.time,
        "times": spread(each.times for each in contest.longest),
        "contexts": Joined(
            tuple(dict.fromkeys((contest.longest[0].context, contest.context))), by=" to "
        ),
    }


def _verdict(result: Flash) -> Verdict:
    if not result.contests:
        return Verdict.CANT_TELL
    if not _own(result):
        return Verdict.WRONG if result.wrong else Verdict.NO_OWN
    return Verdict.OWN


CHAPTER = StudyChapter(
    "An attention of one's own: right, and as fast as PyTorch's?",
    "How fast is an attention of one's own beside PyTorch's?",
    result,
    headline,
)
