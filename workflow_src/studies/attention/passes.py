"""Forward and backward together, for what was measured in both phases."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from workflow_src.paper.value import Rounded, Value, ratio, total
from workflow_src.studies.lines import PERCENTILES, Line, grouped

NAMES = {
    "naive": "written out",
    "fused_softmax": "torch's softmax",
    "sdpa_math": "SDPA math",
    "sdpa_efficient": "SDPA memory-efficient",
    "sdpa_flash": "SDPA flash",
    "sdpa_cudnn": "SDPA cuDNN",
    "compiled": "written out, compiled",
    "flex": "flex_attention",
    "sdpa": "SDPA",
    "plain": "plain",
    "packed": "this project's",
}
"""The implementations in words; SDPA is PyTorch's own operator, with its backends."""

SHAPE = ("implementation", "head_size", "context")


@final
@dataclass(frozen=True)
class Both:
    """Both passes of an implementation at one shape; what wasn't measured of them is None."""

    forward: Line
    backward: Line
    total: Value

    @property
    def name(self) -> str:
        """The implementation in words."""
        return name(self.forward)

    @property
    def context(self) -> int:
        """The context length."""
        return int(self.forward.amount("context"))

    @property
    def fast(self) -> float:
        """The sum of the 20th percentiles, in ms."""
        return self.forward.amount("p20_ms") + self.backward.amount("p20_ms")

    @property
    def slow(self) -> float:
        """The sum of the 80th percentiles, in ms."""
        return self.forward.amount("p80_ms") + self.backward.amount("p80_ms")

    @property
    def time(self) -> Rounded:
        """The time of both, with the digits that their 20th to 80th percentile earns."""
        return Rounded(self.total, *(self.sum(end) for end in PERCENTILES))

    @property
    def working(self) -> Value | None:
        """The share of the time in which a GPU works; None on a CPU, or without a profile."""
        return ratio(self.sum("busy_ms"), self.total, "share", "device / plain")

    @property
    def kernels(self) -> Value | None:
        """How many kernels ran; on a CPU, operators."""
        return self.sum("kernels", "count")

    @property
    def memory(self) -> Value | None:
        """The peak over both passes or, if none was measured, what is kept for backward; in MiB."""
        peak = self.backward.value("peak_mib", "MiB")
        return peak or self.forward.value("kept_mib", "MiB")

    def sum(self, column: str, unit: str = "ms") -> Value | None:
        """The sum over both passes; None if one is missing, and for times of a CPU's operators."""
        if column == "busy_ms" and not self.forward.text("gpu"):
            return None
        return total([line.value(column, unit) for line in (self.forward, self.backward)])


def both(measured: Iterable[Line]) -> list[Both]:
    """What has a time of both passes, in the order of the lines."""
    found = []
    for mine in grouped(measured, *SHAPE):
        phases = {line.text("phase"): line for line in mine if line.ok}
        if {"forward", "backward"} <= phases.keys():
            passes = phases["forward"], phases["backward"]
            if time := total([line.value("median_ms", "ms") for line in passes]):
                found.append(Both(*passes, time))
    return found


def name(line: Line) -> str:
    """A line's implementation in words."""
    return NAMES.get(line.text("implementation"), line.text("implementation"))


def fastest(here: Sequence[Both]) -> Both | None:
    """The one with the shortest time."""
    return min(here, key=lambda each: each.total.number, default=None)
