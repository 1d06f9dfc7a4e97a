"""Study checkpointing: peak and time over what is checkpointed as one, and how nesting grows."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.common.components import PER_BLOCK
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined, Value, computed, difference, ratio, total
from workflow_src.studies.lines import (
    Line,
    gib,
    grouped,
    lines,
    most,
    number,
    shape,
    shown,
    spread,
    unmeasured,
    where,
)
from workflow_src.studies.peaks import off
from workflow_src.studies.study_chapter import StudyChapter

SAME_WITHIN = 0.01
"""Peaks that differ by less are equal: the allocator rounds by as much."""


@dataclass(frozen=True)
class Best:
    """A model's choice of least peak, predicted (None where it didn't run) and measured."""

    predicted: Line | None
    measured: Line

    @property
    def right(self) -> bool:
        """Whether no other choice takes less than the predicted one."""
        if self.predicted is None:
            return False
        least = (1 + SAME_WITHIN) * self.measured.amount("peak_mib")
        return self.predicted.amount("peak_mib") <= least


@dataclass(frozen=True)
class Checkpointing:
    """What the study found.

    off, nested_off: by how much predicted peaks in `flat` and in `nesting` are off, without sign;
    best: of each model, the choice of least peak, predicted and measured; models: what was trained.
    """

    off: tuple[Value, ...]
    nested_off: tuple[Value, ...]
    best: tuple[Best, ...]
    models: Cell
    flat: pd.DataFrame
    nesting: pd.DataFrame
    missing: pd.DataFrame
    on_cpu: bool


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Checkpointing:
    """What the study's table says."""
    every = lines(table, "checkpointing")
    flat, nesting = (where(every, measurement=name) for name in ("flat", "nesting"))
    best = [found for mine in grouped(flat, "size") if (found := _best(mine))]
    return Checkpointing(
        off=off(flat),
        nested_off=off(nesting),
        best=tuple(best),
        models=Joined(tuple(_model(mine) for mine in grouped(flat, "size")), by="; "),
        flat=shown([_flat(line) for line in sorted(flat, key=_order)]),
        nesting=shown([_nested(mine) for mine in grouped(nesting, "layers")]),
        missing=unmeasured(every, _name),
        on_cpu=any(not line.text("gpu") for line in every),
    )


def _model(mine: Sequence[Line]) -> Cell:
    """ "xl-2026: layers 32, d_model 2560, heads 32, context 2048, batch 4, fp32"."""
    line = mine[0]
    parts: tuple[Cell, ...] = (
        *shape(line),
        *(Joined((name, line.whole(name)), by=" ") for name in ("context", "batch")),
        line.text("precision"),
    )
    return Joined((line.text("size"), Joined(parts, by=", ")), by=": ")


def _order(line: Line) -> tuple[str, float]:
    """By size, and from one sublayer to more; without checkpoints at last."""
    return line.text("size"), line.amount("sublayers") or float("inf")


def _best(mine: Sequence[Line]) -> Best | None:
    """The choice of least peak among the checkpointed ones of a model."""
    ran = [line for line in mine if line.ok and line.has("peak_mib") and line.amount("sublayers")]
    if not ran:
        return None
    predicted = ran[0].whole("predicted_best")
    chosen = next((line for line in ran if line.whole("sublayers") == predicted), None)
    return Best(chosen, min(ran, key=lambda line: line.amount("peak_mib")))


def blocks(line: Line) -> Cell:
    """How many blocks are checkpointed as one: "none" without checkpoints, "half" of one."""
    found = line.value("sublayers", "")
    if found is None or found.number < PER_BLOCK:
        return "half" if found and found.number else "none"
    unit = "count" if found.number % PER_BLOCK == 0 else ""
    return computed(found.number / PER_BLOCK, unit, "sublayers / 2", found)


def _flat(line: Line) -> dict[str, Cell]:
    """A choice: peak, time, and how fast its FLOPs are done, without and with those repeated."""
    flops = line.value("flops", "flops")
    again = line.value("recomputed_flops", "flops")
    ms = line.measured("median_ms")
    best = line.value("product_tflop_per_s", "TFLOP/s")
    return {
        "size": line.text("size"),
        "blocks per checkpoint": blocks(line),
        "peak, GiB": gib(line, "peak_mib") if line.ok else line.state,
        "predicted": gib(line, "predicted_peak_mib"),
        "step, ms": line.time,
        "n": line.value("samples", "count") if line.ok else None,
        "FLOPs repeated": ratio(again, flops, "share", "recomputed / FLOPs of a step"),
        "FLOPs / step, of the fastest product's": _utilization(flops, ms, best),
        "with those repeated": _utilization(total([flops, again]), ms, best),
    }


def _utilization(flops: Value | None, ms: Value | None, best: Value | None) -> Value | None:
    """FLOPs over time, as a share of the fastest product's rate (Chowdhery et al. 2022, B)."""
    rate = ratio(flops, ms, "")
    return ratio(computed(number(rate) / 1e9, "", "FLOPs / time", rate), best, "share")


WAYS = {(False, 0): "none", (False, PER_BLOCK): "each block", (True, 0): "nested"}
"""By whether checkpoints are nested, and sublayers."""


def _nested(mine: Sequence[Line]) -> dict[str, Cell]:
    """A depth: peaks without checkpoints, with each block's and with nested ones; their cost."""
    row: dict[str, Cell] = {"blocks": mine[0].whole("layers")}
    for line in mine:
        way = WAYS.get((line.true("nested"), line.whole("sublayers") or 0))
        if way is None:
            continue
        peak = _besides(line, "peak_mib") if line.ok else line.state
        row[f"{way}, MiB"] = Joined((peak, _besides(line, "predicted_peak_mib")), by=" / ")
        if way != "none":
            passes = line.measured("attention_calls", "count")
            both = passes, line.value("predicted_passes", "count")
            row[f"{way}, passes"] = Joined(both, by=" / ")
        row[f"{way}, ms"] = line.time
    steps = spread(line.measured("samples", "count") for line in mine)
    return row | {"n": steps, "whole peaks off by": most(off(mine))}


def _besides(line: Line, column: str) -> Value | None:
    """A peak without the weights and the optimizer's state, which grow with depth in any case."""
    steady = line.value("weights_and_state_mib", "MiB")
    return difference(line.value(column, "MiB"), steady, "peak - 12 N")


def _name(line: Line) -> str:
    way = "nested" if line.true("nested") else f"{line.whole('sublayers')} sublayers per checkpoint"
    return f"{line.text('size')}, {line.whole('layers')} blocks, {way}"


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    PREDICTED = (
        "Of the numbers of blocks tried none needs over 1 % less memory than the predicted one: "
        "{choices}. Predicted peaks are off by at most {off}."
    )
    OTHERWISE = (
        "Another number of blocks per checkpoint than the predicted one can need least memory: "
        "{choices}. Predicted peaks are off by at most {off}."
    )
    PEAKS = "Predicted peaks are off by at most {off}; no choice of checkpoints ran."
    CANT_TELL = "That can't be told: no step with checkpoints ran."


def headline(result: Checkpointing) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict = _verdict(result)
    choices = Joined(tuple(_choice(each) for each in result.best), by=", ")
    return Headline(verdict, verdict.value, {"choices": choices, "off": _off(result)})


def _off(result: Checkpointing) -> Cell:
    """By how much predicted peaks are off at most, those of the appendix named apart."""
    if not result.nested_off:
        return most(result.off)
    return Joined(
        (most(result.off), " (growing models, appendix: ", most(result.nested_off), ")"), by=""
    )


def _choice(best: Best) -> Cell:
    """A model, and its blocks per checkpoint of least peak."""
    line = best.predicted if best.predicted and best.right else best.measured
    return Joined((line.text("size"), blocks(line)), by=" ")


def _verdict(result: Checkpointing) -> Verdict:
    if not result.off:
        return Verdict.CANT_TELL
    if not result.best:
        return Verdict.PEAKS
    return Verdict.PREDICTED if all(each.right for each in result.best) else Verdict.OTHERWISE


CHAPTER = StudyChapter(
    "Checkpointing: memory saved, and what is computed twice for it",
    "How many blocks should a checkpoint cover, and what does it cost?",
    result,
    headline,
)
