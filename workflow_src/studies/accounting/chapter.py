"""Study accounting: formulas against measurements, and passes against the machine's ceilings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.common.words import PHASES
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined, Value, count, ratio
from workflow_src.studies.accounting.phases import Phase, marked, phases, rule
from workflow_src.studies.accounting.roofline import Ceilings, Component, ceilings, components
from workflow_src.studies.lines import (
    Line,
    absolute,
    gib,
    lines,
    most,
    shown,
    spread,
    unmeasured,
    where,
)
from workflow_src.studies.study_chapter import StudyChapter

FLOPS_RATE = "FLOPs / whole time, of a reference product's rate"
"""The column of what a whole pass reaches, whatever share of its time products take."""


@dataclass(frozen=True)
class Accounting:
    """What the study found.

    off: by how much the predicted peak memory is off, of all phases, without sign; utilization: of
    forward passes, by precision.
    """

    rule: tuple[Value, ...]
    off: tuple[Value, ...]
    utilization: Mapping[str, tuple[Value, ...]]
    sizes: pd.DataFrame
    models: pd.DataFrame
    phases: pd.DataFrame
    components: pd.DataFrame
    roofs: pd.DataFrame
    ceilings: pd.DataFrame
    missing: pd.DataFrame


def result(table: pd.DataFrame, of_the_run: pd.DataFrame) -> Accounting:
    """What the study's table says; its ceilings are its own, of the same processes."""
    every = lines(table, "accounting")
    known = ceilings(every)
    found = phases(every, known)
    models = where(every, measurement="model")
    rules = {line.text("size"): rule(line, "step_rule_flops") for line in models}
    used: dict[str, tuple[Value, ...]] = {}
    for each in found:
        if each.name == "forward" and each.utilization:
            used[each.key[1]] = (*used.get(each.key[1], ()), each.utilization)
    return Accounting(
        rule=tuple(value for value in rules.values() if value),
        off=tuple(absolute(each.off) for each in found if each.off),
        utilization=used,
        sizes=_sizes(found, rules),
        models=_models(models),
        phases=shown([_phase(each) for each in found]),
        components=shown([_component(each) for each in components(every, known)]),
        roofs=shown([_roof(each) for each in known.values()]),
        ceilings=shown(
            [_ceiling(line) for line in where(every, measurement="ceiling", status="ok")]
        ),
        missing=unmeasured(every, lambda line: line.named(*NAMED)),
    )


def _sizes(found: Sequence[Phase], rules: Mapping[str, Value | None]) -> pd.DataFrame:
    """A row per size and precision that was measured: its training step and its forward pass."""
    by = {(*each.key, each.name): each for each in found}
    rows: list[dict[str, Cell]] = []
    for size, precision in dict.fromkeys(each.key for each in found):
        step, forward = (by.get((size, precision, n)) for n in ("train_step", "forward"))
        row: dict[str, Cell] = {
            "size": size,
            "precision": precision,
            "context": known.line.whole("context") if (known := step or forward) else None,
            "6ND / step's FLOPs": rules.get(size),
            "step's peak memory, GiB": (step.peak or step.line.state) if step else None,
            "predicted": step.predicted if step else None,
            "step, ms": (step.line.time or step.line.state) if step else None,
            "forward, ms": (forward.line.time or forward.line.state) if forward else None,
            "device works in it": forward.working if forward else None,
            FLOPS_RATE: forward.mfu if forward else None,
        }
        rows.append(row)
    return shown(rows)


def _models(models: Sequence[Line]) -> pd.DataFrame:
    """A row per size; activations depend on the precision, so that each has a column."""
    rows: dict[str, dict[str, Cell]] = {}
    for line in models:
        row = rows.setdefault(line.text("size"), _formulas(line))
        row[f"activations {line.text('precision')}, GiB"] = gib(line, "activations_mib")
    return shown(list(rows.values()))


def _formulas(line: Line) -> dict[str, Cell]:
    forward = line.value("forward_flops", "flops")
    both = ratio(line.value("forward_rule_flops", "flops"), forward, "share", "2ND / forward")
    return {
        "size": line.text("size"),
        "context": line.whole("context"),
        "batch": line.whole("batch"),
        "parameters": line.value("parameters", "count"),
        "without embedding": line.value("parameters_without_embedding", "count"),
        "forward, FLOPs": forward,
        "backward, FLOPs": line.value("backward_flops", "flops"),
        "2ND / forward": both,
        "6ND / step": rule(line, "step_rule_flops"),
        "6ND / step, all N": rule(line, "step_rule_all_flops"),
        "weights, GiB": gib(line, "weights_mib"),
        "gradients, GiB": gib(line, "gradients_mib"),
        "AdamW, GiB": gib(line, "optimizer_mib"),
    }


def _phase(each: Phase) -> dict[str, Cell]:
    size, precision = each.key
    return {
        "size": size,
        "precision": precision,
        "phase": PHASES.get(each.name, each.name),
        "peak, GiB": each.peak or each.line.state,
        "predicted": each.predicted,
        "off by": each.off,
        "median, ms": each.line.times if each.line.ok else None,
        "device works": each.working,
        FLOPS_RATE: each.mfu,
    }


def _component(each: Component) -> dict[str, Cell]:
    return {
        "size": each.line.text("size"),
        "precision": each.line.text("precision"),
        "component": each.name,
        "FLOPs per byte": each.intensity,
        "device time, ms": each.busy_ms,
        "lower ceiling": "bandwidth" if each.by_bandwidth else "products",
        "reaches of it": marked(each.of_roof),
        "bytes by": each.line.text("work_from") or None,
    }


def _roof(each: Ceilings) -> dict[str, Cell]:
    return {
        "precision": each.precision,
        "fastest product, TFLOP/s": each.products,
        "bandwidth, GB/s": each.bandwidth,
        "ridge, FLOPs per byte": each.ridge,
    }


def _ceiling(line: Line) -> dict[str, Cell]:
    return {
        "precision": line.text("precision"),
        "ceiling": line.text("ceiling"),
        "median, ms (20th to 80th percentile)": line.times,
        "fastest sample, TFLOP/s": line.value("tflop_per_s", "TFLOP/s"),
        "fastest sample, GB/s": line.value("gb_per_s", "GB/s"),
    }


NAMED = ("size", "precision", "measurement", "phase", "component", "ceiling")
"""What tells a line that wasn't measured."""


class Verdict(StrEnum):
    """The verdicts, each with its sentences."""

    BOTH = (
        "Predicted peaks are off by at most {off}. Where the device works for 90 % or more, "
        "forward passes, by their whole time, reach {used} of a reference product's rate."
    )
    MEMORY = (
        "Predicted peaks of all phases are off by at most {off}. No forward pass is known to keep "
        "the device working for 90 % of its time, so none is held against the machine's rates."
    )
    RATES = (
        "Where the device works for 90 % or more, forward passes, by their whole time, reach "
        "{used} of a reference product's rate. No peak memory was measured."
    )
    FORMULAS = (
        "Nothing was measured that a formula predicts: by the rule 6ND, a training step has "
        "{rule} of the FLOPs of the exact formulas."
    )
    CANT_TELL = "That can't be told: neither formulas nor measurements are there."


def headline(result: Accounting) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict = _verdict(result)
    by_precision = result.utilization.items()
    used = [
        Joined((name, spread(values), Joined(("(n = ", count(values), ")"), by="")), by=" ")
        for name, values in by_precision
    ]
    slots = {
        "off": most(result.off),
        "used": Joined(tuple(used), by=", "),
        "rule": spread(result.rule),
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(result: Accounting) -> Verdict:
    if result.off:
        return Verdict.BOTH if result.utilization else Verdict.MEMORY
    if result.utilization:
        return Verdict.RATES
    return Verdict.FORMULAS if result.rule else Verdict.CANT_TELL


CHAPTER = StudyChapter(
    "Accounting: FLOPs, memory, utilization and the roofline",
    "How right are formulas for FLOPs and memory, and what rate does a whole pass reach?",
    result,
    headline,
)
