"""The host waits for the device: for a number, a selection's size, or for no reason."""

import math

import torch
from torch import Tensor

from benchmarks.blind.faults.registry import Place, fault
from benchmarks.blind.program import Program


@fault("item")
def early_stopping(program: Program, place: Place, cost: float) -> None:
    """The loss is compared with the best one."""
    best = [math.inf]
    program.besides(1, lambda number, loss: best.append(min(best.pop(), float(loss))))


@fault("synchronize")
def timed_layers(program: Program, place: Place, cost: float) -> None:
    """Layers are timed with a wait for the stream."""

    def wait(made: Tensor) -> Tensor:
        if torch.cuda.is_available():
            torch.cuda.current_stream().synchronize()
        return made

    program.after_layers(place, wait)


@fault("selection")
def rows_by_mask(program: Program, place: Place, cost: float) -> None:
    """Only rows that aren't zero are scaled."""

    def scale(made: Tensor) -> Tensor:
        rows = made.flatten(1).detach().abs().sum(1).nonzero()[:, 0]
        return made.index_copy(0, rows, made[rows] * 0.99)

    program.after_layers(place, scale)


@fault("number_of_each_tensor")
def logged_weights(program: Program, place: Place, cost: float) -> None:
    """The mean size of each weight is logged."""
    logged: dict[str, float] = {}

    def log(number: int, loss: Tensor) -> None:
        for name, weight in program.model.named_parameters():
            logged[name] = weight.detach().abs().mean().item()

    program.besides(3, log)


@fault("host_scalars")
def scheduled_scale(program: Program, place: Place, cost: float) -> None:
    """Several factors are made on the host in each layer."""

    def scale(made: Tensor) -> Tensor:
        for factor in (1.01, 0.99, 1.0):
            made = made * torch.as_tensor(factor, dtype=made.dtype).to(made.device)
        return made

    program.after_layers(range(len(program.model.layers)), scale)


@fault("debug_checks")
def checked_gradients(program: Program, place: Place, cost: float) -> None:
    """Each gradient is looked at for NaN."""

    def check(number: int, loss: Tensor) -> None:
        for weight in program.model.parameters():
            if weight.grad is not None and torch.isnan(weight.grad).any():
                raise ValueError("a gradient is NaN")

    program.besides(2, check)
