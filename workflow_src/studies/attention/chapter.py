"""Which attention is fastest at which context, and what it does to memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import final

import pandas as pd

from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined
from workflow_src.studies.attention.bounds import Bounds, bounds
from workflow_src.studies.attention.core_tables import Cores, core_tables
from workflow_src.studies.attention.loop_table import loops
from workflow_src.studies.attention.modules import Modules, modules
from workflow_src.studies.attention.passes import Both, both, fastest, name
from workflow_src.studies.attention.points import SHOWN_HEAD_SIZE
from workflow_src.studies.lines import Line, lines, shown, unmeasured, where
from workflow_src.studies.study_chapter import StudyChapter


@final
@dataclass(frozen=True)
class Against:
    """The fastest attention and the written-out one, at the longest context where that ran.

    Without that one: the fastest at the longest context of all.
    """

    context: int
    best: Both
    naive: Both | None

    @property
    def apart(self) -> bool:
        """Whether the samples of both don't overlap."""
        return self.naive is not None and self.naive.fast > self.best.slow


@dataclass(frozen=True)
class Shape:
    """What the passes that a section shows have in common."""

    head_size: int | None
    precision: str
    batch: int | None
    heads: int | None


@dataclass(frozen=True)
class Attention:
    """What the study found.

    `shape` is None where nothing was measured in both passes. `contexts`: times of
    both passes with the share in which the device works, by context; `cores`: the long tables of
    those. `loops`: many passes in turn, as the course asks. `modules` are small modules around an
    attention; `bounds` holds fused passes against the run's ceilings.
    """

    shape: Shape | None
    against: Against | None
    contexts: pd.DataFrame
    cores: Cores
    loops: pd.DataFrame
    modules: Modules
    bounds: Bounds | None
    unmeasured: pd.DataFrame


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Attention:
    """What the study's table says, and how near the run's ceilings fused passes come."""
    every = lines(table, "attention")
    cores = where(every, sweep="core")
    measured = shown_passes(cores)
    head_size = measured[0].forward.text("head_size") if measured else ""
    here = where(cores, head_size=head_size)
    return Attention(
        shape=shape(measured[0].forward) if measured else None,
        against=against(measured),
        contexts=contexts(measured),
        cores=core_tables(cores, here, measured),
        loops=loops(where(every, sweep="loop")),
        modules=modules(every),
        bounds=bounds(cores, lines(ceilings, "ceilings")),
        unmeasured=unmeasured(every, _named),
    )


def shown_passes(cores: Sequence[Line]) -> list[Both]:
    """Both passes at SHOWN_HEAD_SIZE or, if that wasn't measured, at the largest head size."""
    found = both(cores)
    sizes = {each.forward.amount("head_size") for each in found}
    size = SHOWN_HEAD_SIZE if SHOWN_HEAD_SIZE in sizes else max(sizes, default=0)
    return [each for each in found if each.forward.amount("head_size") == size]


def shape(line: Line) -> Shape:
    """The shape of a line, without its context."""
    head_size, batch, heads = (line.whole(column) for column in ("head_size", "batch", "heads"))
    return Shape(head_size, line.text("precision"), batch, heads)


def against(measured: Sequence[Both]) -> Against | None:
    """The comparison with the written-out attention; None if nothing was measured."""
    naive = [each for each in measured if each.forward.text("implementation") == "naive"]
    longest = max(naive or measured, key=lambda each: each.context, default=None)
    if longest is None:
        return None
    best = fastest([each for each in measured if each.context == longest.context])
    return Against(longest.context, best or longest, longest if naive else None)


def contexts(measured: Sequence[Both]) -> pd.DataFrame:
    """A row per context: times with shares of device time, and what is fastest.

    All whose samples overlap those of the fastest are named with it.
    """
    names = dict.fromkeys(each.name for each in measured)
    rows = []
    for context in sorted({each.context for each in measured}):
        here = [each for each in measured if each.context == context]
        cells = {each.name: _cell(each) for each in here}
        best = fastest(here)
        first = [each.name for each in here if best and each.fast <= best.slow]
        row: dict[str, Cell] = {"context": context, **{each: cells.get(each) for each in names}}
        rows.append(row | {"fastest": " or ".join(first)})
    return shown(rows)


def _cell(each: Both) -> Cell:
    return Joined((each.time, each.working), by=" at ") if each.working else each.time


def _named(line: Line) -> str:
    return ", ".join(filter(None, (name(line), line.phase, line.text("sweep"))))


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    FASTER = (
        "At context {context}, the longest with a time of the written-out version, {best} takes "
        "{time} ms for both passes against that one's {naive_time}, and {memory} MiB of memory "
        "against {naive_memory}."
    )
    NONE_FASTER = (
        "At context {context}, the longest with a time of the written-out version, nothing "
        "measured is clearly faster than its {naive_time} ms for both passes."
    )
    NO_WRITTEN_OUT = (
        "The written-out version has no time of both passes; at context {context}, the longest "
        "measured, {best} takes the least: {time} ms."
    )
    CANT_TELL = "No attention was measured in both passes, so which is fastest can't be told."


def headline(result: Attention) -> Headline:
    """The verdict on a result, with its numbers."""
    against, verdict = result.against, _verdict(result.against)
    naive = against and against.naive
    slots = {
        "context": against and against.context,
        "best": against and against.best.name,
        "time": against and against.best.time,
        "memory": against and against.best.memory,
        "naive_time": naive and naive.time,
        "naive_memory": naive and naive.memory,
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(against: Against | None) -> Verdict:
    if against is None:
        return Verdict.CANT_TELL
    if against.naive is None:
        return Verdict.NO_WRITTEN_OUT
    return Verdict.FASTER if against.apart else Verdict.NONE_FASTER


CHAPTER = StudyChapter(
    "Attention: written out, compiled and fused, over context and head size",
    "Which attention is fastest at which context, and what does it do to memory?",
    result,
    headline,
)
