"""How much a step works on, and how fast: parameters, tokens, samples and FLOPs."""

from workflow_src.answers.intervals import Interval, plain_time, spread_of_run
from workflow_src.answers.tables import Tables
from workflow_src.answers.times import PhaseTimes
from workflow_src.answers.utilization import product_flops
from workflow_src.common.units import FLOP_PER_TFLOP, MS_PER_S
from workflow_src.paper.value import Cell, Rounded, Value, cell_of, computed

PARAMETERS = "parameters, millions"
TOKENS = "tokens per second"
SAMPLES = "samples per second"
FLOPS = "FLOPs of a step"
RATE = "the same a second, in TFLOP/s"
"""Rows of a case's card."""


def rates(tables: Tables, times: PhaseTimes) -> dict[str, Cell]:
    """The cells of a phase by row, of its plain time; None where a run didn't record them.

    FLOPs are by torch's counter, of this project's own model by formula. A rate has the digits that
    the interval of its plain time earns, and two where that is one process's luck.
    """
    plain = plain_time(tables, times, spread_of_run(tables))
    timed = tables.of("timings", times.case.case, times.phase)
    names = ("parameters", "tokens_per_step", "samples_per_step")
    parameters, tokens, samples = (cell_of(timed, "timings", name, "count") for name in names)
    flops = cell_of(timed, "timings", "counted_flops_per_step", "flops") or product_flops(
        tables, times
    )
    millions = parameters and computed(parameters.number / 1e6, "", "parameters / 10^6", parameters)
    return {
        PARAMETERS: millions,
        TOKENS: _told(times, _per_second(tokens, plain, "rate", 1)),
        SAMPLES: _told(times, _per_second(samples, plain, "rate", 1)),
        FLOPS: flops,
        RATE: _told(times, _per_second(flops, plain, "TFLOP/s", FLOP_PER_TFLOP)),
    }


def _told(times: PhaseTimes, rate: Rounded | None) -> Rounded | None:
    return Rounded(rate.value) if rate and times.is_luck else rate


def _per_second(
    amount: Value | None, plain: Interval | None, unit: str, scale: float
) -> Rounded | None:
    if amount is None or plain is None:
        return None
    times, formula = (plain.middle, plain.high, plain.low), f"{amount.formula} / plain time"
    speeds = (
        amount.number / scale / (time.number / MS_PER_S) if time.number > 0 else None
        for time in times
    )
    rate, least, most = (
        computed(speed, unit, formula, amount, time)
        for speed, time in zip(speeds, times, strict=True)
    )
    return Rounded(rate, least, most) if rate else None
