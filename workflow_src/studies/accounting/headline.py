"""Study accounting in two sentences: predicted memory, and what a forward pass reaches."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined, Value
from workflow_src.studies.accounting.result import Accounting
from workflow_src.studies.lines import spread


class Verdict(StrEnum):
    """The verdicts, each with its sentences."""

    BOTH = (
        "Predicted peak memory is off by at most {off}. A forward pass for 90 % of which the "
        "device works does its products' FLOPs at {used} of a reference product's rate."
    )
    MEMORY = (
        "Predicted peak memory is off by at most {off}. No forward pass is known to keep the "
        "device working for 90 % of its time, so none is held against the machine's rates."
    )
    RATES = (
        "A forward pass for 90 % of which the device works does its products' FLOPs at {used} of a "
        "reference product's rate. No peak memory was measured."
    )
    FORMULAS = (
        "Nothing was measured that a formula predicts: by the rule 6ND, a training step has "
        "{rule} of the FLOPs of the exact formulas."
    )
    CANT_TELL = "That can't be told: neither formulas nor measurements are there."


def headline(result: Accounting) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict = _verdict(result)
    slots = {
        "off": max(result.off, key=_number, default=None),
        "used": _by_precision(result.utilization),
        "rule": spread(result.rule),
    }
    return Headline(verdict, verdict.value, slots)


def _number(value: Value) -> float:
    return value.number


def _by_precision(found: Mapping[str, Sequence[Value]]) -> Cell:
    """ "fp32 53 % to 82 %, bf16 19 % to 29 %"."""
    parts = [Joined((name, spread(values)), by=" ") for name, values in found.items()]
    return Joined(tuple(parts), by=", ")


def _verdict(result: Accounting) -> Verdict:
    if result.off:
        return Verdict.BOTH if result.utilization else Verdict.MEMORY
    if result.utilization:
        return Verdict.RATES
    return Verdict.FORMULAS if result.rule else Verdict.CANT_TELL
