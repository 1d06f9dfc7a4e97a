"""What first steps' time goes to: what the host does in them, and what trials without causes took.

Each process of a trial starts cuBLAS before its first step or not, and has CUDA load code at a
kernel's first launch or all of a library's at once. Points of earlier versions start no cuBLAS.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.common.units import MS_PER_S
from workflow_src.paper.value import Cell, Value, computed, count, difference, median, ratio
from workflow_src.studies.lines import Line, grouped, number, ranged, shown, spread, where
from workflow_src.studies.warmup.points import EAGER, LAZY

CHANGES = ("saved, cuBLAS started", "saved, code loaded, too")
"""The columns that say which share of what a first step takes longer is saved: of the step as it
is, so that what starting cuBLAS saves or costs counts once.
"""

START_UP = ("start-up, ms", "with code loaded, ms")

PARTS = {
    "whole": "the whole step",
    "first_launch": "first launches of kernels",
    "launch": "other launches",
    "load": "loading and looking up code",
    "synchronize": "waiting for the device",
    "allocate": "allocating and freeing memory",
    "other_call": "other CUDA calls",
    "outside": "outside CUDA calls",
}
"""What the host's time in a step is split into, in words."""


@dataclass(frozen=True)
class Cause:
    """What first steps' time goes to: calls of the host, and trials without two of its causes.

    `started`, `loaded`: what processes took to start up, without and with all code loaded (s).
    """

    parts: pd.DataFrame
    trials: pd.DataFrame
    started: Cell
    loaded: Cell


def cause(every: Sequence[Line]) -> Cause:
    """What the measured lines of a table say of causes."""
    loading = where(every, sweep="loading")
    parts = shown([_part(line) for line in where(every, sweep="traced")])
    return Cause(parts, trials(loading), *start_up(loading))


def trials(loading: Sequence[Line]) -> pd.DataFrame:
    """A row per size and phase: first steps as they are, with cuBLAS started, with code loaded."""
    return shown([_row(mine) for mine in grouped(loading, "size", "phase")])


def _row(mine: Sequence[Line]) -> dict[str, Cell]:
    plain, started, loaded = _kinds(mine)
    settled = median(line.value("settled_ms", "ms") for line in plain)
    extra = difference(median(_firsts(plain)), settled)
    return {
        "first step of": name(mine[0]),
        "as it is, ms": ranged(_firsts(plain)),
        "cuBLAS started, ms": ranged(_firsts(started)),
        "and code loaded, ms": ranged(_firsts(loaded)),
        "settled step, ms": settled,
        CHANGES[0]: saved(_firsts(plain), _firsts(started), extra),
        CHANGES[1]: saved(_firsts(plain), _firsts(loaded), extra),
        "processes": count(_firsts(plain)),
        START_UP[0]: median(line.value("build_ms", "ms") for line in started or plain),
        START_UP[1]: median(line.value("build_ms", "ms") for line in loaded),
    }


def start_up(loading: Sequence[Line]) -> tuple[Cell, Cell]:
    """The least to the most (s) of processes as in START_UP; nothing unless both are there.

    Medians of a size would be of two processes or three, which are too few to tell a range.
    """
    kinds = [_kinds(mine) for mine in grouped(loading, "size", "phase")]
    before = spread(_build(line) for plain, started, _ in kinds for line in started or plain)
    after = spread(_build(line) for *_, loaded in kinds for line in loaded)
    return (before, after) if before and after else (None, None)


def _build(line: Line) -> Value | None:
    took = line.value("build_ms", "ms")
    return took and computed(took.number / MS_PER_S, "two digits", took.formula, took)


def _kinds(mine: Sequence[Line]) -> tuple[list[Line], list[Line], list[Line]]:
    """Trials as they are, with cuBLAS started, and with code loaded, too."""
    plain, started = _kind(mine, LAZY, False), _kind(mine, LAZY, True)
    return plain, started, _kind(mine, EAGER, bool(started))


def _kind(mine: Sequence[Line], loading: str, prepared: bool) -> list[Line]:
    return [line for line in where(mine, loading=loading) if line.true("prepared") == prepared]


def _firsts(kind: Sequence[Line]) -> list[Value]:
    return [value for line in kind if (value := line.value("first_step_ms", "ms"))]


def saved(slower: Sequence[Value], faster: Sequence[Value], extra: Value | None) -> Value | None:
    """The share of `extra`, what a first step takes longer, that faster processes save.

    None where processes of both kinds overlap or nearly do: where the least that was saved is under
    half of what medians say.
    """
    least, saving = _gained(slower, faster), difference(median(slower), median(faster))
    if not least or not saving or least < saving.number / 2:
        return None
    return ratio(saving, extra, "rough", "saved / extra")


def _gained(slower: Sequence[Value], faster: Sequence[Value]) -> float:
    """By how much each of the faster is faster than each of the slower, at least; 0 if not all."""
    if not slower or not faster:
        return 0.0
    return max(min(map(number, slower)) - max(map(number, faster)), 0.0)


def _part(line: Line) -> dict[str, Cell]:
    return {
        "size, phase": name(line),
        "the host's time": PARTS.get(line.text("part"), line.text("part")),
        "first step, ms": line.value("first_step_ms", "ms"),
        "settled step, ms": line.value("settled_ms", "ms"),
        "difference, ms": line.value("extra_ms", "ms"),
        "calls, first step": line.value("first_calls", "count"),
        "calls, settled step": line.value("settled_calls", "count"),
    }


def name(line: Line) -> str:
    """A line's run in words: "small, forward"."""
    return ", ".join(filter(None, (line.text("size"), line.phase)))
