"""How much a step works on, and how fast: parameters, tokens, samples and FLOPs."""

from workflow_src.answers.tables import Tables
from workflow_src.answers.times import PhaseTimes
from workflow_src.answers.utilization import product_flops
from workflow_src.common.units import FLOP_PER_TFLOP, MS_PER_S
from workflow_src.paper.value import Cell, Value, cell_of, computed

PARAMETERS = "parameters, millions"
TOKENS = "tokens per second"
SAMPLES = "samples per second"
FLOPS = "FLOPs of a step"
RATE = "the same a second, in TFLOP/s"
"""Rows of a case's card."""


def rates(tables: Tables, times: PhaseTimes) -> dict[str, Cell]:
    """The cells of a phase by row, of its plain time; None where a run didn't record them.

    FLOPs are by torch's counter, of this project's own model by formula.
    """
    timed = tables.of("timings", times.case.case, times.phase)
    names = ("parameters", "tokens_per_step", "samples_per_step")
    parameters, tokens, samples = (cell_of(timed, "timings", name, "count") for name in names)
    flops = cell_of(timed, "timings", "counted_flops_per_step", "flops") or product_flops(
        tables, times
    )
    millions = parameters and computed(parameters.number / 1e6, "", "parameters / 10^6", parameters)
    return {
        PARAMETERS: millions,
        TOKENS: _per_second(tokens, times.plain, "rate", 1),
        SAMPLES: _per_second(samples, times.plain, "rate", 1),
        FLOPS: flops,
        RATE: _per_second(flops, times.plain, "TFLOP/s", FLOP_PER_TFLOP),
    }


def _per_second(amount: Value | None, plain: Value | None, unit: str, scale: float) -> Value | None:
    if amount is None or plain is None or not plain.number > 0:
        return None
    rate = amount.number / scale / (plain.number / MS_PER_S)
    return computed(rate, unit, f"{amount.formula} / plain time", amount, plain)
