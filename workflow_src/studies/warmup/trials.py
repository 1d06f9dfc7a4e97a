"""Whether starting cuBLAS and loading code explain slow first steps: what trials without them took.

Each process of a trial starts cuBLAS before its first step or not, and has CUDA load code at a
kernel's first launch or all of a library's at once. Points of earlier versions start no cuBLAS.
"""

from collections.abc import Sequence

import pandas as pd

from workflow_src.paper.value import Cell, Value, count, difference, median, ratio
from workflow_src.studies.lines import Line, grouped, number, ranged, shown, spread, where
from workflow_src.studies.warmup.points import EAGER, LAZY

CHANGES = ("saved by starting cuBLAS", "saved by loading code")
"""The columns that say which share of what a first step takes longer a change saves."""

START_UP = ("start-up, ms", "with code loaded, ms")


def trials(loading: Sequence[Line]) -> pd.DataFrame:
    """A row per size and phase: first steps as they are, with cuBLAS started, with code loaded."""
    return shown([_row(mine) for mine in grouped(loading, "size", "phase")])


def _row(mine: Sequence[Line]) -> dict[str, Cell]:
    plain, started = _kind(mine, LAZY, False), _kind(mine, LAZY, True)
    loaded = _kind(mine, EAGER, bool(started))
    settled = median(line.value("settled_ms", "ms") for line in plain)
    extra = difference(median(_firsts(plain)), settled)
    # Where starting cuBLAS saves nothing, it may not count as saved by loading code.
    before = started if _gained(_firsts(plain), _firsts(started)) else plain
    return {
        "first step of": f"{mine[0].text('size')}, {mine[0].phase}",
        "as it is, ms": ranged(_firsts(plain)),
        "cuBLAS started, ms": ranged(_firsts(started)),
        "and code loaded, ms": ranged(_firsts(loaded)),
        "settled step, ms": settled,
        CHANGES[0]: saved(_firsts(plain), _firsts(started), extra),
        CHANGES[1]: saved(_firsts(before), _firsts(loaded), extra),
        "processes": count(_firsts(plain)),
        START_UP[0]: median(line.value("build_ms", "ms") for line in started or plain),
        START_UP[1]: median(line.value("build_ms", "ms") for line in loaded),
    }


def start_up(found: pd.DataFrame, column: str) -> Cell:
    """The least to the most of a column of START_UP; None unless both are there."""
    return spread(found[column].dropna()) if {*START_UP} <= {*found} else None


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
