"""How fast an attention of one's own is, how right, and how near its ceilings, beside PyTorch's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import pandas as pd

from workflow_src.common import words
from workflow_src.common.case import names_code
from workflow_src.render.value import Cell, Joined, Value, ratio
from workflow_src.studies.flash.ceilings import ceilings_table
from workflow_src.studies.flash.memory import memory_table
from workflow_src.studies.flash.named import PHASES, name
from workflow_src.studies.lines import Line, grouped, lines, shown, unmeasured

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


@final
@dataclass(frozen=True)
class Contest:
    """The fastest of one's own and of PyTorch's, at the longest context where both have the phase.

    Without one of one's own: the fastest at the longest context. `wrong` is one that isn't right.
    """

    phase: str
    context: int
    best: Line
    own: Line | None
    wrong: str

    @property
    def times(self) -> Value | None:
        """How many times as long one's own takes."""
        return ratio(self.own and ms(self.own), ms(self.best), "times", "own / PyTorch's fastest")


@dataclass(frozen=True)
class Flash:
    """What the study found.

    `contexts`: ms of both passes by context, at one precision and head size; `times` all of them.
    `checks`: errors of each implementation; `memory`: peaks against formulas; `ceilings`: rates at
    the longest contexts.
    """

    shape: Shape | None
    contest: Contest | None
    contexts: pd.DataFrame
    times: pd.DataFrame
    checks: pd.DataFrame
    memory: pd.DataFrame
    ceilings: pd.DataFrame
    unmeasured: pd.DataFrame


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Flash:
    """What the study's table says, and how near the run's ceilings its passes come."""
    every = lines(table, "flash")
    timed = [line for line in every if line.text("sweep") == "time"]
    checks = [line for line in every if line.text("sweep") == "check"]
    here = shown_lines(timed)
    return Flash(
        shape=_shape(here),
        contest=contest(here, checks),
        contexts=shown([_context(mine) for mine in _in_order(here, "context")]),
        times=shown([_every_phase(mine) for mine in _in_order(timed, *SHAPE)]),
        checks=shown([_check(mine) for mine in grouped(checks, "implementation", "precision")]),
        memory=memory_table(timed),
        ceilings=ceilings_table(timed, lines(ceilings, "ceilings")),
        unmeasured=unmeasured(every, _named),
    )


SHAPE = ("precision", "head_size", "context")


def ms(line: Line) -> Value | None:
    """The median time of a pass."""
    return line.value("median_ms", "ms")


def shown_lines(timed: Sequence[Line]) -> list[Line]:
    """The lines of the first precision with a time, at HEAD_SIZE or else the largest head size."""
    measured = [line for line in timed if line.ok and line.has("median_ms")]
    if not measured:
        return []
    precision = measured[0].text("precision")
    sizes = {line.amount("head_size") for line in measured if line.text("precision") == precision}
    size = HEAD_SIZE if HEAD_SIZE in sizes else max(sizes)
    of_size = [line for line in timed if line.amount("head_size") == size]
    return [line for line in of_size if line.text("precision") == precision]


def _shape(here: Sequence[Line]) -> Shape | None:
    measured = [line for line in here if line.ok]
    if not measured:
        return None
    by = ", ".join(dict.fromkeys(filter(None, (line.text("timed_by") for line in measured))))
    head_size, batch = (measured[0].whole(column) for column in ("head_size", "batch"))
    return Shape(measured[0].text("precision"), head_size, batch, by)


def contest(here: Sequence[Line], checks: Sequence[Line]) -> Contest | None:
    """One's own against PyTorch's, in both passes or else forward; None without a time."""
    failed = [line for line in checks if names_code(line.text("implementation"))]
    wrong = next((name(line) for line in failed if line.text("status") == "failed"), "")
    contests = [_in_phase(here, phase, wrong) for phase in ("forward_backward", "forward")]
    found = [each for each in contests if each]
    return next((each for each in found if each.own), found[0] if found else None)


def _in_phase(here: Sequence[Line], phase: str, wrong: str) -> Contest | None:
    measured = [line for line in here if line.ok and line.text("phase") == phase and ms(line)]
    own = [line for line in measured if names_code(line.text("implementation"))]
    others = [line for line in measured if line not in own]
    contexts = {line.amount("context") for line in others}
    both = contexts & {line.amount("context") for line in own}
    if not contexts:
        return None
    context = max(both or contexts)
    best, mine = (_fastest(each, context) for each in (others, own if both else ()))
    return Contest(phase, int(context), best, mine, wrong) if best else None


def _fastest(measured: Sequence[Line], context: float) -> Line | None:
    here = [line for line in measured if line.amount("context") == context]
    return min(here, key=lambda line: line.amount("median_ms"), default=None)


def _in_order(every: Sequence[Line], *columns: str) -> list[list[Line]]:
    """Lines grouped by these columns, in the order of the precision and then of numbers."""
    precisions = list(dict.fromkeys(line.text("precision") for line in every))

    def place(mine: Sequence[Line]) -> tuple[float, ...]:
        first = mine[0]
        return (
            precisions.index(first.text("precision")),
            *(first.amount(column) for column in columns if column != "precision"),
        )

    return sorted(grouped(every, *columns), key=place)


def _context(mine: Sequence[Line]) -> dict[str, Cell]:
    """A row of the section's table: both passes of each implementation."""
    row: dict[str, Cell] = {"context": mine[0].whole("context")}
    both = [line for line in mine if line.text("phase") == "forward_backward"]
    return row | {name(line): ms(line) if line.ok else line.state for line in both}


def _every_phase(mine: Sequence[Line]) -> dict[str, Cell]:
    """A row of the long table: the three times of each implementation."""
    row: dict[str, Cell] = {"precision": mine[0].text("precision")}
    row |= {"d": mine[0].whole("head_size"), "context": mine[0].whole("context")}
    for of_one in grouped(mine, "implementation"):
        by_phase = {line.text("phase"): line for line in of_one}
        cells = [_cell(by_phase.get(phase)) for phase in PHASES]
        row[name(of_one[0])] = cells[0] if len(set(map(str, cells))) == 1 else Joined(tuple(cells))
    return row


def _cell(line: Line | None) -> Cell:
    return None if line is None else ms(line) if line.ok else line.state


def _check(mine: Sequence[Line]) -> dict[str, Cell]:
    """The largest errors of an implementation over head sizes, and the precision that they tell."""
    row: dict[str, Cell] = {"attention": name(mine[0]), "precision": mine[0].text("precision")}
    for tensor in ("out", "dq", "dk", "dv"):
        errors = [line.value(f"error_{tensor}", "error") for line in mine if line.ok]
        row[tensor] = max(filter(None, errors), key=lambda each: each.number, default=None)
    row["allowed"] = mine[0].value("error_allowed", "error")
    told = dict.fromkeys(line.text("products_in") for line in mine if line.text("products_in"))
    return row | {"products in": ", ".join(told) or None}


def _named(line: Line) -> str:
    phase, size = line.text("phase"), line.whole("head_size")
    known = (name(line), line.text("precision"), f"d {size}", words.PHASES.get(phase, phase))
    return ", ".join(filter(None, known))
