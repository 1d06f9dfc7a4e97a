"""Study mlp: how a step's time and device time grow with its FLOPs."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import final

import pandas as pd

from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Value, computed, ratio
from workflow_src.studies.lines import (
    Line,
    conditions,
    grouped,
    lines,
    number,
    shown,
    unmeasured,
    where,
)
from workflow_src.studies.mlp.points import BASE
from workflow_src.studies.mlp.scaled import scaled, scaled_row
from workflow_src.studies.study_chapter import StudyChapter

OPERATORS_SHOWN = 5


@final
@dataclass(frozen=True)
class Width:
    """A step at one width (dim): its time, device time, and the share of the first in the second.

    `time`: as it is printed, or in words why there is none.
    """

    dim: int
    time: Cell
    ms: Value | None
    busy_ms: Value | None
    working: Value | None
    on_cpu: bool

    @property
    def waits(self) -> bool:
        """Whether a GPU waits for launches, judged as its FLOPs are: by what it is of the step."""
        return not self.on_cpu and number(self.working) < WORKING_FULLY


@final
@dataclass(frozen=True)
class Growth:
    """From the width `low` to `high`: how many times FLOPs, step and device time are."""

    low: Width
    high: Width
    flops: Value | None
    step: Value | None
    busy: Value | None


@dataclass(frozen=True)
class Mlp:
    """What the study found.

    growth: from the narrowest width to the widest; working: from the narrowest from which on the
    device works for most of each step. `most`: the width at which it does for the largest share.
    conditions: what the widths have in common.
    """

    growth: Growth | None
    working: Growth | None
    most: Width | None
    conditions: Cell
    dims: pd.DataFrame
    scaled: pd.DataFrame
    operators: pd.DataFrame
    missing: pd.DataFrame


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Mlp:
    """What the study's table says; it isn't held against the run's ceilings."""
    every = lines(table, "mlp")
    ran, sweep = where(every, status="ok"), where(every, part="sweep")
    found = widths(sweep)
    return Mlp(
        growth=growth(found),
        working=growth(working(found)),
        most=max((w for w in found if w.working), key=lambda w: number(w.working), default=None),
        conditions=conditions(sweep, {"layers": "layers", "batch": "batch"}),
        dims=_dims(found),
        scaled=shown([scaled_row(each) for each in scaled(where(every, part="scaling"))]),
        operators=shown([_operator(line) for line in _longest(where(ran, part="operators"))]),
        missing=unmeasured(every, _name),
    )


def widths(sweep: Sequence[Line]) -> list[Width]:
    """The steps of the sweep over the width, the narrowest first."""
    found = [_width(dim, line) for line in sweep if (dim := line.whole("dim"))]
    return sorted(found, key=lambda width: width.dim)


def _width(dim: int, line: Line) -> Width:
    ms, busy = line.measured("median_ms"), line.measured("busy_ms")
    working = ratio(busy, ms, "share", "device time / step")
    time = line.time or line.state
    return Width(dim, time, ms, busy, working, line.text("device") == "cpu")


def working(found: Sequence[Width]) -> list[Width]:
    """The widths from the narrowest on from which no GPU waits for launches."""
    timed = [width for width in found if width.ms]
    waits = [place for place, width in enumerate(timed) if width.waits]
    return timed[waits[-1] + 1 :] if waits else timed


def growth(found: Sequence[Width]) -> Growth | None:
    """The growth from the narrowest of some widths with a time to the widest; None of only one."""
    timed = [width for width in found if width.ms]
    return _growth(timed[0], timed[-1]) if len(timed) > 1 else None


def _growth(low: Width, high: Width) -> Growth:
    step = ratio(high.ms, low.ms, "times", "step / step")
    flops = computed((high.dim / low.dim) ** 2, "times", "(dim / dim)^2", low.ms, high.ms)
    return Growth(
        low=low,
        high=high,
        flops=flops,
        step=step,
        busy=ratio(high.busy_ms, low.busy_ms, "times", "device time / device time"),
    )


def _dims(found: Sequence[Width]) -> pd.DataFrame:
    """A row per width, FLOPs and times over those of the base's width."""
    base = next((width for width in found if width.dim == BASE["dim"]), None)
    rows: list[dict[str, Cell]] = []
    for width in found:
        grown = _growth(base, width) if base else None
        rows.append({
            "dim": width.dim,
            "step, ms": width.time,
            "device time, ms": width.busy_ms,
            "device time / step": width.working,
            f"FLOPs over dim {BASE['dim']}'s": grown and grown.flops,
            "step over": grown and grown.step,
            "device time over": grown and grown.busy,
        })  # fmt: skip
    return shown(rows)


def _longest(operators: Sequence[Line]) -> list[Line]:
    """Of each operation, the operators that take most, at most OPERATORS_SHOWN."""
    return [
        line
        for mine in grouped(operators, "operation")
        for line in sorted(mine, key=lambda line: -line.amount("share"))[:OPERATORS_SHOWN]
    ]


def _operator(line: Line) -> dict[str, Cell]:
    return {
        "operation": line.text("operation"),
        "unprofiled median, ms": line.value("median_ms", "ms"),
        "operator": line.text("operator") or None,
        "kernel": line.text("kernel") if line.text("device") != "cpu" else None,
        "family": line.text("family") or None,
        "calls": line.value("calls", "calls"),
        "device time, ms": line.value("device_ms", "ms"),
        "share": line.value("share", "share"),
    }


def _name(line: Line) -> str:
    told = {column: line.text(column) for column in ("part", "operation", "axis")}
    numbers = {"by": line.whole("factor"), "dim": line.whole("dim")}
    about = [*told.values(), *(f"{name} {number}" for name, number in numbers.items() if number)]
    return " ".join(filter(None, about))


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    GROWS = "From dim {least} to {high}, {flops} the FLOPs take {step} as long."
    FROM = (
        "From dim {least} to {high}, {flops} the FLOPs take {step} as long. From dim {low} on, "
        "where the device works for {enough} of each step or more, {flops_there} take {step_there}."
    )
    WAITS = (
        "From dim {least} to {high}, {flops} the FLOPs take {step} as long, but of no two widths "
        "the device works for {enough} of each step or more (most: {most}, at dim {dim}), so that "
        "launches may set its time."
    )
    CANT_TELL = "That can't be told: fewer than two widths have a time and a device time."


def headline(result: Mlp) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict, growth, most = _verdict(result), result.growth, result.most
    working = result.working
    slots = {
        "least": growth and growth.low.dim,
        "high": growth and growth.high.dim,
        "flops": growth and growth.flops,
        "step": growth and growth.step,
        "low": working and working.low.dim,
        "flops_there": working and working.flops,
        "step_there": working and working.step,
        "enough": Value(WORKING_FULLY, "share", ()),
        "most": most and most.working,
        "dim": most and most.dim,
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(result: Mlp) -> Verdict:
    growth, working = result.growth, result.working
    if growth is None or result.most is None:
        return Verdict.CANT_TELL
    if working is None:
        return Verdict.WAITS
    return Verdict.GROWS if working.low is growth.low else Verdict.FROM


CHAPTER = StudyChapter(
    "MLP scaling: a step's time against its FLOPs",
    "Does a training step take longer as its FLOPs grow, and by as much?",
    result,
    headline,
)
