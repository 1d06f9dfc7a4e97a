"""Data is copied between host and device."""

import torch
from torch import Tensor

from benchmarks.blind.faults.registry import ON_CUDA, Place, fault
from benchmarks.blind.program import Program
from benchmarks.planted.loop import DEVICE

FEATURES = 2**24 if ON_CUDA else 2**8
"""Numbers that a batch brings along, of 4 bytes."""


def _with_features(program: Program, pinned: bool) -> None:
    features, batch = torch.rand(FEATURES), program.batch
    features = features.pin_memory() if pinned and ON_CUDA else features

    def fetched() -> Tensor:
        features.to(DEVICE, non_blocking=pinned)
        return batch()

    program.batch = fetched


@fault("pageable_batch")
def features_of_the_host(program: Program, place: Place, cost: float) -> None:
    """A batch brings features from ordinary memory."""
    _with_features(program, pinned=False)


@fault("unhidden_copy")
def pinned_features(program: Program, place: Place, cost: float) -> None:
    """The same from pinned memory, on the stream that computes."""
    _with_features(program, pinned=True)


@fault("data_to_host")
def kept_outputs(program: Program, place: Place, cost: float) -> None:
    """A layer's output goes to the host in each step."""
    kept: list[Tensor] = []

    def keep(made: Tensor) -> Tensor:
        kept[:] = [made.detach().float().cpu()]
        return made

    program.after_layers(place[:1], keep)


@fault("blocking_save")
def saved_moments(program: Program, place: Place, cost: float) -> None:
    """Every third step copies the optimizer's state to the host."""

    def save(number: int, loss: Tensor) -> None:
        if number % 3 == 1:
            for state in program.optimizer.state.values():
                [each.cpu() for each in state.values() if isinstance(each, Tensor)]

    program.besides(3, save)
