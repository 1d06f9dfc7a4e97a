"""The products of the study's table: rates, and what their samples and kernels' names tell."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd

from workflow_src.common.thresholds import WAITS_BELOW
from workflow_src.paper.value import Cell, Joined, Marked, Value, computed, ratio
from workflow_src.placing.kernel_words import built_for
from workflow_src.studies.lines import Line, lines
from workflow_src.studies.matmul.points import PRECISIONS
from workflow_src.studies.matmul.tiles import covered

APART = 0.05
"""Samples are unsteady if their 20th or 80th percentile is further from the median than this."""

UNSTEADY, WAITING = "u", "w"
"""Marks of rates."""

ROW_BYTES = 16
"""Rows of so many bytes, or a multiple, can be read in the widest loads."""

ITEM_BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp8": 1}


@dataclass(frozen=True)
class Product:
    """A product of two n x n matrices, measured or not; a skipped precision has one without n."""

    line: Line
    n: int | None
    rate: Value | None
    ms: Value | None
    busy_ms: Value | None

    @property
    def sweep(self) -> str:
        """The sweep that it belongs to."""
        return self.line.text("sweep")

    @property
    def precision(self) -> str:
        """The precision asked for."""
        return self.line.text("precision")

    @property
    def waits(self) -> bool:
        """Whether it ran on a GPU that mostly waited for its launch."""
        share = ratio(self.busy_ms, self.ms, "share")
        on_gpu = bool(self.line.text("gpu"))
        return on_gpu and share is not None and share.number < WAITS_BELOW

    @property
    def unsteady(self) -> bool:
        """Whether its percentiles lie far from its median, and not because of launches."""
        ends = [self.line.value(f"{end}_ms", "ms") for end in ("p20", "p80")]
        shares = [ratio(each, self.ms, "share") for each in ends]
        return not self.waits and any(each and abs(each.number - 1) > APART for each in shares)

    @property
    def marked(self) -> Cell:
        """Its rate, marked where it waited or is unsteady."""
        mark = WAITING if self.waits else UNSTEADY if self.unsteady else ""
        return Marked(self.rate, f" ({mark})") if mark else self.rate

    @property
    def between(self) -> Cell:
        """Its rate, with those of the 80th and the 20th percentile of its times if unsteady."""
        ends = [self.line.value(f"{end}_ms", "ms") for end in ("p80", "p20")]
        times = [ratio(self.ms, each, "share") for each in ends]
        rates = [
            self.rate and each and computed(self.rate.number * each.number, "TFLOP/s", "", each)
            for each in times
        ]
        told = (self.rate, " (20th to 80th percentile: ", Joined(tuple(rates), by=" to "), ")")
        return Joined(told, by="") if self.unsteady else self.rate

    @property
    def aligned(self) -> bool:
        """Whether its rows are a multiple of ROW_BYTES."""
        return self.n is not None and self.n * ITEM_BYTES[self.precision] % ROW_BYTES == 0

    @property
    def kernel(self) -> str:
        """The kernel with the most time; "" if nothing ran."""
        return self.line.text("kernel")

    @property
    def built_for(self) -> int | None:
        """The compute capability that the kernel is named after."""
        return built_for(self.kernel)

    @property
    def covered(self) -> tuple[int | None, int | None]:
        """Tiles and waves by the tile that ran; older tables have those of an assumed one."""
        tile, there = self.line.text("tile"), self.line.whole("multiprocessors")
        return covered(self.n, tile, there) if self.n else (None, None)


def products(table: pd.DataFrame) -> list[Product]:
    """The table's products by precision, then by rising size."""
    known = [line for line in lines(table, "matmul") if line.text("precision") in ITEM_BYTES]
    found = [_product(line) for line in known]
    return sorted(found, key=lambda each: (PRECISIONS.index(each.precision), each.n or 0))


def _product(line: Line) -> Product:
    rate, times = line.measured("tflops", "TFLOP/s"), ("median_ms", "busy_ms")
    return Product(line, line.whole("n"), rate, *(line.measured(time) for time in times))


def measured(found: Iterable[Product], sweep: str) -> list[Product]:
    """The products of a sweep that have a size and a rate."""
    return [each for each in found if each.sweep == sweep and each.n and each.rate]


def changes(found: list[Product]) -> list[Value | None]:
    """By which share each rate differs from that of the size before; None for the first."""
    pairs = [(each.rate, before.rate) for before, each in pairwise(found)]
    return [None, *(_change(rate, before) for rate, before in pairs)][: len(found)]


def _change(rate: Value | None, before: Value | None) -> Value | None:
    change = ratio(rate, before, "change")
    return change and computed(change.number - 1, "change", "rate / the one before - 1", change)


def more_waves(found: list[Product]) -> Product | None:
    """The first size that takes more waves than the one before; None if that is never known."""
    waves = [(before.covered[1], each) for before, each in pairwise(found)]
    return next((each for few, each in waves if few and (each.covered[1] or 0) > few), None)
