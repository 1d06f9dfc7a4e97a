"""What one kernel gains over one per step of a formula, and how near it comes to a copy."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined, Marked, Value, ratio
from workflow_src.studies.fusion.copies import LARGE, bandwidth, cached
from workflow_src.studies.fusion.named import NAMES, OPERATIONS, name, operation, power
from workflow_src.studies.lines import (
    Line,
    grouped,
    lines,
    most,
    number,
    out_of,
    shown,
    spread,
    unmeasured,
    where,
)
from workflow_src.studies.study_chapter import StudyChapter

ONE_KERNEL = ("triton", "torch")
"""The implementations that the verdict is on: this project's, or where it didn't run, torch's."""

IN_CACHE = " (fits in a cache)"
"""Stands behind a time whose rate isn't memory's."""

NEAR_COPY, SAME_WITHIN = 0.90, 0.02
"""The share of a copy's rate that is called near, and how far apart equal medians may be."""


@dataclass(frozen=True)
class Fusion:
    """What the study found.

    `kernel`: the implementation that stands for one kernel; `speedups`: how many times as fast as
    written out it is at the largest sizes, `gains` the same by operation. `bandwidth`: the best
    rate of memory. `largest` has a row per implementation; `goals` one per operation; `times` is a
    table per operation, `kinds` has a row per implementation and type.
    """

    kernel: str
    speedups: tuple[Value, ...]
    gains: Cell
    bandwidth: Value | None
    largest: pd.DataFrame
    goals: pd.DataFrame
    times: tuple[pd.DataFrame, ...]
    kinds: pd.DataFrame
    unmeasured: pd.DataFrame


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Fusion:
    """What the study's table says."""
    every = [line for line in lines(table, "fusion") if line.text("operation") in OPERATIONS]
    ran = [line for line in every if line.ok]
    own = [line for line in ran if line.text("implementation") != "copy"]
    operations = grouped(ran, "operation")
    known = {name: [speedups(largest(mine), name) for mine in operations] for name in ONE_KERNEL}
    kernel = next((name for name in ONE_KERNEL if any(known[name])), ONE_KERNEL[0])
    found = dict(zip((operation(mine[0]) for mine in operations), known[kernel], strict=True))
    return Fusion(
        kernel=NAMES[kernel],
        speedups=tuple(value for values in found.values() for value in values),
        gains=Joined(
            tuple(Joined((name, spread(some)), by=" ") for name, some in found.items() if some),
            by=", ",
        ),
        bandwidth=bandwidth(ran),
        largest=at_largest(ran),
        goals=shown([_goal(mine) for mine in operations]),
        times=tuple(_times(mine) for mine in grouped(every, "operation")),
        kinds=shown([_kind(mine) for mine in grouped(own, *KIND)]),
        unmeasured=unmeasured(every, lambda line: f"{operation(line)}, {name(line)}"),
    )


KIND = ("operation", "implementation", "dtype")
SHAPE = ("operation", "dtype", "rows", "columns")
"""What lines must have in common to be compared with each other."""


def largest(measured: Sequence[Line]) -> list[Line]:
    """The lines with the most elements."""
    most = max((line.amount("elements") for line in measured), default=0)
    return [line for line in measured if line.amount("elements") == most]


def speedups(measured: Sequence[Line], kernel: str, slow: str = "written_out") -> list[Value]:
    """The median of `slow` over that of `kernel`, at each shape that has both."""
    found = [
        ratio(medians.get(slow), medians.get(kernel), "times", f"{slow} / {kernel}")
        for mine in grouped(measured, *SHAPE)
        for medians in [{line.text("implementation"): line.measured("median_ms") for line in mine}]
    ]
    return list(filter(None, found))


def at_largest(ran: Sequence[Line]) -> pd.DataFrame:
    """A row per implementation: times at the largest sizes, and shares of the best rate of memory.

    If every tensor fits in a cache: without shares, which the cells say.
    """
    uncached = [line for line in ran if not cached(line)]
    rate = bandwidth(ran) if uncached else None
    groups = [
        mine
        for operation in grouped(uncached or ran, "operation")
        for mine in grouped(largest(operation), "dtype")
    ]
    rows: list[dict[str, Cell]] = []
    for implementation, words in NAMES.items():
        cells: dict[str, Cell] = {
            f"{operation(mine[0])} of {power(mine[0].amount('elements'))}, {mine[0].text('dtype')}":
            _reached(where(mine, implementation=implementation), rate, bool(uncached))
            for mine in groups
        }  # fmt: skip
        rows += [{"median, ms": words, **cells}] if any(cells.values()) else []
    return shown(rows)


def _reached(here: Sequence[Line], rate: Value | None, uncached: bool) -> Cell:
    """The times of an implementation over its shapes, and its shares of the best rate."""
    times = spread(line.value("median_ms", "ms") for line in here)
    rates = [line.value("achieved_gb_per_s", "GB/s") for line in here]
    shares = spread(ratio(each, rate, "share", "rate / best rate of memory") for each in rates)
    if times and not uncached:
        return Marked(times, IN_CACHE)
    return Joined((times, shares), by=" at ") if shares else times


def _goal(mine: Sequence[Line]) -> dict[str, Cell]:
    """How often Triton's kernel comes near a copy, and is slower than torch's own."""
    large = [line for line in mine if line.amount("elements") >= LARGE]
    triton = where(large, implementation="triton")
    shares = [share for line in triton if (share := line.value("share_of_copy", "tenths"))]
    against = speedups(large, "triton", "torch")
    slower = [value for value in against if value.number < 1 / (1 + SAME_WITHIN)]
    near = [share for share in shares if share.number >= NEAR_COPY]
    return {
        "Triton's": operation(mine[0]),
        "at least 90 % of a copy's rate in": out_of(near, shares),
        "least share of a copy's rate": min(shares, key=number, default=None),
        "over 2 % slower than torch's own in": out_of(slower, against),
    }


def _times(mine: Sequence[Line]) -> pd.DataFrame:
    """A row per shape of an operation: the median of each implementation, its share of the copy."""
    found = []
    for shape in sorted(grouped(mine, *SHAPE), key=_order):
        first = shape[0]
        fits = any(line.ok and cached(line) for line in shape)
        row: dict[str, Cell] = {
            f"{operation(first)}, dtype": first.text("dtype"),
            "elements": power(first.amount("elements")),
            "rows": first.value("rows", "count") if first.amount("rows") > 1 else None,
            "columns": first.whole("columns") if first.amount("rows") > 1 else None,
            "fits in cache": "yes" if fits else None,
        }
        found.append(row | {f"{name(line)}, ms": _time(line) for line in shape})
    return shown(found)


def _order(shape: Sequence[Line]) -> tuple[str, float, float]:
    first = shape[0]
    return first.text("dtype"), first.amount("columns"), first.amount("elements")


def _time(line: Line) -> Cell:
    time, share = line.value("median_ms", "ms"), line.value("share_of_copy", "share")
    if not line.ok:
        return line.state
    known = share and line.text("implementation") != "copy" and not cached(line)
    return Joined((time, share), by=" at ") if known else time


def _kind(mine: Sequence[Line]) -> dict[str, Cell]:
    return {
        "operation": operation(mine[0]),
        "implementation": name(mine[0]),
        "dtype": mine[0].text("dtype"),
        "largest error": most(line.value("relative_error", "error") for line in mine),
        "launches": mine[0].value("kernels_launched", "count"),
    }


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    PAYS = (
        "At the largest size, one kernel ({kernel}) is faster than one per step of the formula; "
        "times as fast: {gains}."
    )
    PARTLY = (
        "At the largest size, one kernel ({kernel}) isn't always faster than one per step of the "
        "formula; times as fast: {gains}."
    )
    DOESNT = (
        "At the largest size, one kernel ({kernel}) isn't faster than one per step of the formula; "
        "times as fast: {gains}."
    )
    CANT_TELL = (
        "No operation was measured both written out and as one kernel, so what that gains can't "
        "be told."
    )


def headline(result: Fusion) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict = _verdict([speedup.number for speedup in result.speedups])
    return Headline(verdict, verdict.value, {"kernel": result.kernel, "gains": result.gains})


def _verdict(speedups: list[float]) -> Verdict:
    if not speedups:
        return Verdict.CANT_TELL
    if min(speedups) > 1 + SAME_WITHIN:
        return Verdict.PAYS
    return Verdict.PARTLY if max(speedups) > 1 + SAME_WITHIN else Verdict.DOESNT


CHAPTER = StudyChapter(
    "Operator fusion: GeLU and softmax, written out and as one kernel",
    "What does an operation gain from one kernel instead of one per step of its formula?",
    result,
    headline,
)
