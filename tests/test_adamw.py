"""This project's AdamW compared with PyTorch's, and the choice of optimizer."""

import pytest
import torch
from torch import Tensor, nn

from workflow_src.common.case import OPTIMIZERS
from workflow_src.model.adamw import AdamW, build_optimizer


def parameters() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 5), (7,), (2, 3, 4)]
    return [
        nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64))
        for shape in shapes
    ]


def gradients(step: int, like: list[nn.Parameter]) -> list[Tensor]:
    """Gradients whose scale varies over the steps, to exercise both moment estimates."""
    generator = torch.Generator().manual_seed(step)
    scale = 10.0 ** (step % 5 - 3)
    return [scale * torch.randn(p.shape, generator=generator, dtype=torch.float64) for p in like]


def run(optimizer: torch.optim.Optimizer, over: list[nn.Parameter], steps: int) -> None:
    for step in range(steps):
        for parameter, gradient in zip(over, gradients(step, over), strict=True):
            parameter.grad = gradient
        optimizer.step()


def assert_same(ours: list[nn.Parameter], theirs: list[nn.Parameter]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.3},
        {"weight_decay": 0.0},
    ],
)
def test_fifty_steps_agree_with_pytorch(settings: dict[str, object]) -> None:
    defaults = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}
    ours, theirs = parameters(), parameters()
    run(AdamW(ours, **settings), ours, 50)  # type: ignore[arg-type]
    reference = torch.optim.AdamW(theirs, foreach=False, **(defaults | settings))  # type: ignore[arg-type]
    run(reference, theirs, 50)
    assert_same(ours, theirs)


def test_the_three_optimizers_take_the_same_steps() -> None:
    results = []
    for name in OPTIMIZERS:
        over = parameters()
        run(build_optimizer(name, over), over, 50)
        results.append(over)
    assert_same(results[0], results[1])
    assert_same(results[0], results[2])


def test_a_parameter_without_gradient_is_unchanged() -> None:
    parameter = nn.Parameter(torch.ones(2))
    optimizer = AdamW([parameter])
    optimizer.step()
    assert parameter.tolist() == [1.0, 1.0]
    assert not optimizer.state[parameter]
