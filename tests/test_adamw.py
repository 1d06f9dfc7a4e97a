"""This project's AdamW compared with PyTorch's, and the choice of optimizer."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from workflow_src.common.case import OPTIMIZERS
from workflow_src.model.adamw import AdamW, build_optimizer

SHAPES = [(3, 5), (7,), (2, 3, 4)]


def drawn(seed: int, scale: float = 1.0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    draw = partial(torch.randn, generator=generator, dtype=torch.float64)
    return [scale * draw(shape) for shape in SHAPES]


def trained(make: Callable[[list[nn.Parameter]], torch.optim.Optimizer]) -> list[nn.Parameter]:
    """Parameters after 50 steps, whose gradients' scales exercise both moment estimates."""
    over = [nn.Parameter(each) for each in drawn(0)]
    optimizer = make(over)
    for step in range(50):
        for parameter, gradient in zip(over, drawn(step, 10.0 ** (step % 5 - 3)), strict=True):
            parameter.grad = gradient
        optimizer.step()
    return over


def assert_same(ours: list[nn.Parameter], theirs: list[nn.Parameter]) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.3},
        {"weight_decay": 0.0},
    ],
)
def test_fifty_steps_agree_with_pytorch(settings: dict[str, Any]) -> None:
    theirs = trained(partial(torch.optim.AdamW, foreach=False, **settings))
    assert_same(trained(partial(AdamW, **settings)), theirs)


def test_the_three_optimizers_take_the_same_steps() -> None:
    first, *others = (trained(partial(build_optimizer, name)) for name in OPTIMIZERS)
    for each in others:
        assert_same(each, first)


def test_a_parameter_without_gradient_is_unchanged() -> None:
    parameter = nn.Parameter(torch.ones(2))
    optimizer = AdamW([parameter])
    optimizer.step()
    assert parameter.tolist() == [1.0, 1.0]
    assert not optimizer.state[parameter]
