"""Measures peak memory and time of a training step over what is checkpointed as one."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from workflow_src.common.case import Case
from workflow_src.common.components import PER_BLOCK
from workflow_src.measure.allocations import step_peak
from workflow_src.measure.memory import allocated_before
from workflow_src.measure.rows import free
from workflow_src.measure.timing import sample_steps
from workflow_src.measure.workload import Workload, build
from workflow_src.model.transformer import Block, TransformerLM
from workflow_src.studies.models import case_of, identity
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import Task, main


def tasks(point: Point) -> Iterator[Task]:
    """Rows of two kinds (`measurement`): flat (over sublayers) and nesting: of each depth without
    checkpoints, with each block checkpointed, and with nesting."""
    case = case_of(point, point["size"], point["precision"])
    flat = [(number, False) for number in point["sublayers"]]
    yield from arrangements(case, "flat", flat, point)
    for depth in point["depths"]:
        ways = [(0, False), (PER_BLOCK, False), (0, True)]
        yield from arrangements(replace(case, layers=depth), "nesting", ways, point)


def arrangements(
    case: Case, measurement: str, ways: Sequence[tuple[int, bool]], point: Point
) -> Iterator[Task]:
    """A task per number of sublayers and whether they are nested, all of one model."""
    free(case.device)
    before = allocated_before(case.device, torch.float32)
    workload, built = build(case)
    about = {"measurement": measurement} | identity(case) | {"layers": case.layers}
    for number, nested in ways:
        run: Callable[[], Row] = built.copy
        if workload:
            run = partial(_measured, workload, number, nested, before, point)
        task = Task(about | {"sublayers": number, "nested": nested}, run)
        yield task
        if workload and task.row["status"] == "oom":
            workload.release()


def _measured(workload: Workload, sublayers: int, nested: bool, before: int, point: Point) -> Row:
    device = workload.case.device
    with arranged(workload.model, sublayers, nested):
        if not workload.optimizer.state:
            # Its first step makes the optimizer's state, which would otherwise miss in a peak.
            workload.train_step()
        peak = step_peak(workload, "train_step", before)
        return peak | sample_steps(workload.train_step, device, 0, point["steps"])


class Sublayer(nn.Sequential):
    """Half a block: the residual stream plus what a norm and a layer make of it."""

    def forward(self, x: Tensor) -> Tensor:
        """(batch, T, d_model) -> (batch, T, d_model)."""
        made: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return x + made


class Checkpointed(nn.Sequential):
    """Parts in a row, of each of which only the input is kept; all else is computed again in
    backward.

    Chen et al. 2016, "Training deep nets with sublinear memory cost". There is no dropout whose
    random numbers would have to be kept.
    """

    def forward(self, x: Tensor) -> Tensor:
        """(batch, T, d_model) -> (batch, T, d_model)."""
        for part in self:
            x = checkpoint(part, x, use_reentrant=False, preserve_rng_state=False)
        return x


def halved(sublayers: Sequence[nn.Module]) -> Checkpointed:
    """Blocks of which each half is checkpointed, and each half of that, down to a single block."""
    middle = len(sublayers) // PER_BLOCK // 2 * PER_BLOCK
    parts = (part for part in (sublayers[:middle], sublayers[middle:]) if part)
    return Checkpointed(
        *(halved(part) if len(part) > PER_BLOCK else nn.Sequential(*part) for part in parts)
    )


@contextmanager
def arranged(model: nn.Module, sublayers: int, nested: bool) -> Iterator[None]:
    """While inside, every `sublayers` sublayers are checkpointed as one, the last may be fewer; 0
    for none. nested: halves of halves are, instead."""
    assert isinstance(model, TransformerLM)
    before = model.blocks
    every: list[nn.Module] = []
    for block in before:
        assert isinstance(block, Block)
        every.append(Sublayer(block.attention_norm, block.attention))
        every.append(Sublayer(block.feed_forward_norm, block.feed_forward))
    if nested:
        model.blocks = nn.ModuleList([halved(every)])
    elif sublayers:
        starts = range(0, len(every), sublayers)
        together = (nn.Sequential(*every[n : n + sublayers]) for n in starts)
        model.blocks = nn.ModuleList([Checkpointed(*together)])
    try:
        yield
    finally:
        model.blocks = before


if __name__ == "__main__":
    main(tasks)
