"""A variant's workload, how each of its phases runs, and whether it can run here at all."""

from collections.abc import Callable
from dataclasses import replace

from workflow_src.common.case import NEEDS_CUDA, Case
from workflow_src.measure.cuda_graph import graphed
from workflow_src.measure.timing import Call
from workflow_src.measure.workload import Build, Workload
from workflow_src.studies.levers.points import Variant
from workflow_src.studies.models import case_of
from workflow_src.studies.study import Point


def case_at(point: Point) -> Case:
    """The case that a point's variant runs: its attention, optimizer, precision and batch."""
    variant = Variant.of(point)
    plain = case_of(point, point["size"], variant.precision or point["precision"])
    return replace(
        plain,
        attention=variant.attention,
        optimizer=variant.optimizer,
        batch=plain.batch * variant.batches,
    )


def needs(case: Case, variant: Variant) -> str:
    """What the variant needs that the case's device can't do; "" if it can run."""
    if case.device == "cuda":
        return ""
    if case.attention in NEEDS_CUDA["attention"]:
        return "Triton compiles only for GPUs"
    return "CUDA graphs need a CUDA device" if variant.graph else ""


class Trial:
    """The workload of a variant, and the call that runs each of its phases."""

    def __init__(self, case: Case, variant: Variant, rounded: bool = False) -> None:
        """Build the workload. May run out of memory; raises UnavailableError without Triton.

        `rounded`: see Build.
        """
        self.variant = variant
        self.whole_graph = variant.graph and variant.optimizer != "adamw"
        build = Build(variant.bf16_weights, variant.compiled, self.whole_graph, rounded)
        self.workload = Workload(case, build)

    def call(self, phase: str) -> Call:
        """What runs a step of the phase; with a graph, it replays what is captured now.

        AdamW written out counts its steps in Python, where a replay doesn't count on: there the
        graph ends with backward. Raises NotCapturableError.
        """
        if not self.variant.graph:
            return self.workload.phase(phase)
        if phase == "train_step" and not self.whole_graph:
            return self._then_optimizer(graphed(self.workload.forward_backward))
        return graphed(self.workload.phase(phase))

    def _then_optimizer(self, replay: Callable[[], None]) -> Call:
        def step() -> None:
            replay()
            self.workload.optimizer.step()

        return step
