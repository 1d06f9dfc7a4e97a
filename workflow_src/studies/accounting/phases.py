"""The phases of the accounting study: times, memory against its formula, and utilization."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workflow_src.common.ceilings import over_ceiling
from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.paper.value import Cell, Marked, Value, ratio, total
from workflow_src.studies.accounting.roofline import TERA, Ceilings, rate
from workflow_src.studies.lines import Line, change, gib, where

BEYOND = " (c)"
"""Marks a share of a ceiling that exceeds it: it was read from a cache, or the ceiling is none."""


@dataclass(frozen=True)
class Phase:
    """A phase of a size in a precision: its time, the device's, its peak memory (GiB).

    working: the device's share of the time, known of forward passes on a GPU; off: how far the
    predicted peak is from the measured one; utilization: the rate of its FLOPs as a share of the
    fastest product's, only where the device works for WORKING_FULLY of the time or more.
    """

    line: Line
    ms: Value | None
    working: Value | None
    peak: Value | None
    predicted: Value | None
    off: Value | None
    utilization: Value | None

    @property
    def name(self) -> str:
        """The phase's name in tables."""
        return self.line.text("phase")

    @property
    def mfu(self) -> Cell:
        """The utilization, marked where it is above the ceiling."""
        return marked(self.utilization)

    @property
    def key(self) -> tuple[str, str]:
        """Size and precision."""
        return self.line.text("size"), self.line.text("precision")


def marked(share: Value | None) -> Cell:
    """A share of a ceiling, marked if the ceiling is none."""
    beyond = share is not None and over_ceiling(share.number, 1.0)
    return Marked(share, BEYOND) if beyond else share


def phases(every: Sequence[Line], known: Mapping[str, Ceilings]) -> list[Phase]:
    """The phases of all sizes, measured or not."""
    mine = where(every, measurement="phase")
    return [_read(line, known.get(line.text("precision"))) for line in mine]


def _read(line: Line, limits: Ceilings | None) -> Phase:
    on_gpu = bool(line.text("gpu"))
    ms, busy = line.measured("median_ms"), line.measured("busy_ms") if on_gpu else None
    working = ratio(busy, ms, "share", "device time / time")
    peak = gib(line, "peak_mib") if line.ok else None
    predicted = gib(line, "predicted_peak_mib")
    works = working is not None and working.number >= WORKING_FULLY
    reached = rate(line.value("flops", "flops"), ms, "TFLOP/s", TERA)
    best = limits.products if limits else None
    return Phase(
        line,
        ms,
        working,
        peak,
        predicted,
        change(predicted, peak),
        ratio(reached, best, "share", "rate / best") if works or not on_gpu else None,
    )


def rule(model: Line, column: str) -> Value | None:
    """The FLOPs of a rule as a share of the exact FLOPs of a training step."""
    exact = total([model.value(f"{each}_flops", "flops") for each in ("forward", "backward")])
    return ratio(model.value(column, "flops"), exact, "share", "rule / exact FLOPs")
