"""A way of training one case, measured or not, and what its step takes over that without
communication."""

from collections.abc import Sequence
from dataclasses import dataclass

from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.paper.value import Value, computed, ratio
from workflow_src.studies.lines import Line, grouped, where
from workflow_src.studies.ranks.points import WAYS

NAMES = {
    "alone": "no communication",
    "naive": "naive: an all-reduce per parameter, after backward",
    "flat": "flat: one all-reduce, after backward",
    "overlapped": "overlapped: an all-reduce per parameter, during backward",
    "bucketed": "in buckets: DistributedDataParallel",
    "sharded_optimizer": "overlapped, optimizer in shards",
    "fsdp": "FSDP2",
}

GRADIENTS_EQUAL, PARAMETERS_EQUAL = 1e-4, 1e-2
"""What rounding may do to gradients in float32, and to a step of AdamW, which depends on the sign
of gradients that are nearly 0."""

PEAKS = ("initialized_mib", "before_optimizer_mib", "optimizer_mib")
"""The columns of peaks, in the order of a step."""


@dataclass(frozen=True)
class Way:
    """A way of training one case, with what its step takes over that without communication.

    working: the device's share of the step without communication, known on a GPU.
    """

    line: Line
    ms: Value | None
    over: Value | None
    working: Value | None

    @property
    def name(self) -> str:
        """The way in words."""
        return NAMES.get(self.line.text("way"), self.line.text("way"))

    @property
    def case(self) -> str:
        """Size and precision."""
        return case_name(self.line)

    @property
    def traced(self) -> Value | None:
        """Its traced step over its timed one."""
        recorded = self.line.measured("recorded_ms")
        return ratio(recorded, self.ms, "times", "recorded step / step")

    @property
    def communicates(self) -> bool:
        """Whether ranks exchange anything."""
        return self.line.text("way") != "alone"

    @property
    def waits(self) -> bool:
        """Whether the device waits for launches, in which communication may hide."""
        return self.working is not None and self.working.number < WORKING_FULLY

    @property
    def wrong(self) -> bool:
        """Whether its step differs from one process's by more than rounding."""
        limits = {"gradient_error": GRADIENTS_EQUAL, "parameter_error": PARAMETERS_EQUAL}
        return any(self.line.amount(name) > limit for name, limit in limits.items())


def ways_of(trained: Sequence[Line]) -> list[Way]:
    """The ways of each case of some lines, one case after another."""
    return [each for case in grouped(trained, "size", "precision") for each in _ways(case)]


def _ways(case: Sequence[Line]) -> list[Way]:
    """The ways of one case in the order of WAYS, with how much longer than alone they take."""
    times = {line.text("way"): line.measured("median_ms") for line in case}
    alone = times.get("alone")
    computes = next((line.value("compute_ms", "ms") for line in where(case, way="alone")
                     if line.text("gpu")), None)  # fmt: skip
    working = ratio(computes, alone, "share", "computes / step")
    found = [
        Way(line, ms, ratio(ms, alone, "near_one", "step / step without communication"), working)
        for line in case
        if (ms := times[line.text("way")]) or not line.ok
    ]
    order = {name: place for place, name in enumerate(WAYS)}
    return sorted(found, key=lambda way: order.get(way.line.text("way"), len(order)))


def case_name(line: Line) -> str:
    """Size and precision."""
    return f"{line.text('size')} {line.text('precision')}"


def both_columns(name: str) -> tuple[str, str]:
    """The columns of what was measured and of its prediction."""
    return ("median_ms" if name == "step_ms" else name), f"predicted_{name}"


def off(line: Line, name: str) -> Value | None:
    """Predicted over measured, less 1; None where either is missing."""
    if not line.ok:
        return None
    measured, predicted = (line.value(column, "") for column in both_columns(name))
    found = ratio(predicted, measured, "change")
    return found and computed(found.number - 1, "change", "predicted / measured - 1", found)
