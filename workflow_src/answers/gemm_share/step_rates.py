"""What a training step of each case works on, how fast, and how much memory it takes."""

from workflow_src.answers.fits import holds
from workflow_src.answers.marks import ALONE, CAPPED
from workflow_src.answers.rates import FLOPS, RATE, rates
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import phase_times
from workflow_src.answers.utilization import mfu
from workflow_src.common.case import PHASES
from workflow_src.common.units import FLOP_PER_TFLOP
from workflow_src.common.words import STATES
from workflow_src.paper.value import Cell, Joined, Marked, Value, computed

STEP = PHASES[-1]
MARKED_GB = 80
"""The GPU of which is said whose peaks it doesn't hold."""

OVER = "\N{DOUBLE DAGGER}"
"""Stands behind such a peak."""


def step_cell(tables: Tables, case: CaseKey) -> Cell:
    """FLOPs, their rate in plain time, its share of the datasheet's peak, and peak memory."""
    times = phase_times(tables, case, STEP)
    if times.state != "ok":
        return STATES[times.state]
    made = rates(tables, times)
    tera = _tera(made[FLOPS])
    marks = ALONE * (times.fastest is None) + CAPPED * times.power_limited
    rate = made[RATE] and Marked(made[RATE], marks)
    cells = (tera, rate, mfu(tables, times), _marked(times.peak_memory))
    return Joined(cells, " / ") if any(cells) else None


def _marked(peak: Value | None) -> Cell:
    """A peak, marked if a GPU of MARKED_GB doesn't hold it."""
    return Marked(peak, OVER) if peak and not holds(peak, MARKED_GB) else peak


def _tera(flops: Cell) -> Value | None:
    if not isinstance(flops, Value):
        return None
    return computed(flops.number / FLOP_PER_TFLOP, "", "FLOPs / 10^12", flops)
