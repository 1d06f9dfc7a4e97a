"""What a way of training takes, predicted from all-reduce alone and from one GPU's step.

Nothing here was fitted to a step with communication; see `Baseline` for what is taken from
measurements.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from workflow_src.common.case import OPTIMIZER_TRAFFIC_BYTES, Case
from workflow_src.studies.ranks.collectives import (
    ELEMENT_BYTES,
    AllReduceTimes,
    Call,
    block_sizes,
    calls_of,
    root_bytes,
)

BACKWARD_SHARE = 2 / 3
"""Of the passes' time: a backward pass has twice the products of the forward pass."""


def copied_bytes(way: str, ranks: int) -> float:
    """Bytes per parameter that copies read and write, beside the step's own traffic.

    `flat` copies all gradients together and back; `bucketed` each into its bucket. `fsdp` copies
    each rank's shard into the buffer of a gather and what was gathered out of it, both twice, and
    gradients together before they are scattered.
    """
    once = 2 * ELEMENT_BYTES
    return {"flat": 2 * once, "bucketed": once, "fsdp": 2 * (once / ranks + once) + once}.get(
        way, 0
    )


SHARDED = ("sharded_optimizer", "fsdp")
"""The ways in which each rank's optimizer has only its part to do."""


@dataclass(frozen=True)
class Baseline:
    """What is measured before: all-reduce alone, and the step of a rank without communication.

    step_ms: the whole step; optimizer_ms: its optimizer's part, by the trace.
    """

    all_reduce: AllReduceTimes
    step_ms: float
    optimizer_ms: float

    @property
    def passes_ms(self) -> float:
        """The forward and the backward pass."""
        return self.step_ms - self.optimizer_ms

    def predicted_ms(self, case: Case, way: str) -> float:
        """The step of a way.

        It takes what it takes alone and what nothing hides; copies as long as the optimizer
        takes for so many bytes; and the optimizer, where each rank has a part of it, that part.
        """
        exposed_ms = self.exposed_ms(case, way, calls_of(case, way))
        copied = copied_bytes(way, self.all_reduce.ranks) / OPTIMIZER_TRAFFIC_BYTES["fused"]
        saved = 1 - 1 / self.all_reduce.ranks if way in SHARDED else 0.0
        return self.step_ms + exposed_ms + (copied - saved) * self.optimizer_ms

    def exposed_ms(self, case: Case, way: str, calls: Sequence[Call]) -> float:
        """What of a way's communication runs while nothing else does.

        All-reduces start in order, each when its gradients are there and the one before it is over;
        what is left after the backward pass is exposed. Broadcasts follow the optimizer. FSDP2
        exposes the gathers before the first block and the last scatter, and of each block what is
        longer than its computation.
        """
        if way == "fsdp":
            return self._fsdp_exposed_ms(case)
        backward_ms = BACKWARD_SHARE * self.passes_ms
        reduced = [call for call in calls if call.collective == "all_reduce"]
        end = 0.0
        for call in reduced:
            end = max(end, call.ready * backward_ms) + self.all_reduce.ms(call)
        after = [call for call in calls if call.collective == "broadcast"]
        return max(0.0, end - backward_ms) * bool(reduced) + self.all_reduce.total_ms(after)

    def _fsdp_exposed_ms(self, case: Case) -> float:
        block = ELEMENT_BYTES * sum(block_sizes(case))
        gather, scatter = (
            {size: self.all_reduce.ms(Call(name, size)) for size in (block, root_bytes(case))}
            for name in ("all_gather", "reduce_scatter")
        )
        root = root_bytes(case)
        forward = (1 - BACKWARD_SHARE) * self.passes_ms / case.layers
        backward = BACKWARD_SHARE * self.passes_ms / case.layers
        longer = max(0.0, gather[block] - forward)
        longer += max(0.0, gather[block] + scatter[block] - backward)
        return gather[root] + gather[block] + scatter[root] + case.layers * longer
