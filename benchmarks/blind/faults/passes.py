"""Forward passes that nothing comes of, or that backward runs again."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from benchmarks.blind.faults.registry import Place, fault
from benchmarks.blind.program import Program
from benchmarks.planted.loop import DEVICE, marked


@fault("forward_twice")
def logits_for_accuracy(program: Program, place: Place, cost: float) -> None:
    """Logits are computed once more for a metric."""
    run = program.run

    def twice(inputs: Tensor) -> Tensor:
        with torch.no_grad():
            run(inputs).argmax(-1)
        return run(inputs)

    program.run = twice


@fault("evaluation")
def validation_in_each_step(program: Program, place: Place, cost: float) -> None:
    """Each step runs a validation batch, with gradients."""

    def validate(number: int, loss: Tensor) -> None:
        with marked("validation"), torch.autocast(DEVICE.type, torch.bfloat16):
            program.run(program.batch())

    program.besides(3, validate)


@fault("recomputation")
def reentrant_checkpoints(program: Program, place: Place, cost: float) -> None:
    """Layers are computed again in backward."""

    def again(forward: Callable[..., Tensor]) -> Callable[..., Tensor]:
        return lambda hidden: checkpoint(forward, hidden, use_reentrant=True)

    for layer in program.model.layers:
        layer.forward = again(layer.forward)
