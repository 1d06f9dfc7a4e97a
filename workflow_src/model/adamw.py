"""AdamW, written out one parameter at a time, and PyTorch's two faster versions."""

import math
from collections.abc import Iterable
from typing import Any

import torch

# Torch imports it when the first optimizer is made, which takes seconds; a device is held then.
import torch._dynamo
from torch import Tensor
from torch.optim import Optimizer

SETTINGS: dict[str, Any] = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2).

    The decay is scaled by the learning rate, as in torch.optim.AdamW. `settings` are those of
    SETTINGS that differ.
    """

    def __init__(self, parameters: Iterable[Tensor], **settings: Any) -> None:
        super().__init__(parameters, SETTINGS | settings)

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update every parameter once."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state["mean"] = torch.zeros_like(parameter)
            state["square"] = torch.zeros_like(parameter)
            state["step"] = 0
        # A Python number: reading a count from the device would mean waiting for it.
        state["step"] += 1
        lr, (beta1, beta2) = group["lr"], group["betas"]
        state["mean"].mul_(beta1).add_(gradient, alpha=1 - beta1)
        state["square"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        root = state["square"].sqrt().div_(math.sqrt(1 - beta2 ** state["step"]))
        rate = lr / (1 - beta1 ** state["step"])
        parameter.mul_(1 - lr * group["weight_decay"])
        parameter.addcdiv_(state["mean"], root.add_(group["eps"]), value=-rate)


def build_optimizer(case_optimizer: str, parameters: Iterable[Tensor]) -> Optimizer:
    """The optimizer of case.OPTIMIZERS that a case names, with SETTINGS."""
    if case_optimizer == "adamw":
        return AdamW(parameters)
    which = {name: case_optimizer == name for name in ("foreach", "fused")}
    return torch.optim.AdamW(parameters, **(SETTINGS | which))
