"""What a training step of each case works on, how fast, and how much memory it takes."""

from workflow_src.answers.fits import holds
from workflow_src.answers.intervals import Interval, Spread, plain_time
from workflow_src.answers.marks import ALONE, CAPPED
from workflow_src.answers.rates import FLOPS, RATE, rates
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import PhaseTimes, phase_times
from workflow_src.answers.utilization import mfu
from workflow_src.common.case import PHASES
from workflow_src.common.units import FLOP_PER_TFLOP
from workflow_src.common.words import STATES
from workflow_src.paper.value import Cell, Joined, Marked, Rounded, Value, computed, ratio

STEP = PHASES[-1]
MARKED_GB = 80
"""The GPU of which is said whose peaks it doesn't hold."""

OVER = "\N{DOUBLE DAGGER}"
"""Stands behind such a peak."""


def step_cell(tables: Tables, case: CaseKey, spread: Spread | None) -> Cell:
    """FLOPs, their rate in plain time, its share of the datasheet's peak, and peak memory.

    spread: how far plain times of the run's processes differ.
    """
    times = phase_times(tables, case, STEP)
    if times.state != "ok":
        return STATES[times.state]
    made = rates(tables, times)
    tera = _tera(made[FLOPS])
    rate = _with_its_digits(made[RATE], times, plain_time(tables, times, spread))
    cells = (tera, rate, mfu(tables, times), _marked(times.peak_memory))
    return Joined(cells, " / ") if any(cells) else None


def _with_its_digits(rate: Cell, times: PhaseTimes, plain: Interval | None) -> Cell:
    """A rate as exact as its plain time is, with the marks of that."""
    if not isinstance(rate, Value) or plain is None:
        return rate
    ends = (ratio(plain.middle, end, "times") for end in (plain.high, plain.low))
    least, most = (
        computed(rate.number * each.number, rate.unit, rate.formula, rate, each) if each else None
        for each in ends
    )
    several = times.fastest and times.slowest
    return Marked(Rounded(rate, least, most), ALONE * (not several) + CAPPED * times.power_limited)


def _marked(peak: Value | None) -> Cell:
    """A peak, marked if a GPU of MARKED_GB doesn't hold it."""
    return Marked(peak, OVER) if peak and not holds(peak, MARKED_GB) else peak


def _tera(flops: Cell) -> Value | None:
    if not isinstance(flops, Value):
        return None
    return computed(flops.number / FLOP_PER_TFLOP, "", "FLOPs / 10^12", flops)
