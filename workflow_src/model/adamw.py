"""AdamW, written out one parameter at a time, and PyTorch's two faster versions."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch

# Torch imports it when the first optimizer is made, which takes seconds; a device is held then.
import torch._dynamo
from torch import Tensor
from torch.optim import Optimizer

LEARNING_RATE = 1e-3
BETAS = (0.9, 0.999)
EPS = 1e-8
WEIGHT_DECAY = 0.01


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2).

    The decay is scaled by the learning rate, as in torch.optim.AdamW. Parameters without a
    gradient are skipped. Raises ValueError for a negative rate, eps or decay, or for betas
    outside [0, 1).
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = LEARNING_RATE,
        betas: tuple[float, float] = BETAS,
        eps: float = EPS,
        weight_decay: float = WEIGHT_DECAY,
    ) -> None:
        if min(lr, eps, weight_decay) < 0:
            raise ValueError(f"negative lr {lr}, eps {eps} or weight_decay {weight_decay}")
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas {betas} are not both in [0, 1)")
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(parameters, defaults)

    @torch.no_grad()
    def step(  # type: ignore[override]
        self, closure: Callable[[], float] | None = None
    ) -> float | None:
        """Run `closure`, if any, and update every parameter once; returns the closure's result."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)
        return loss

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


def build_optimizer(
    case_optimizer: str, parameters: Iterable[Tensor], capturable: bool = False
) -> Optimizer:
    """The optimizer that a case names (see case.OPTIMIZERS), all with the same settings.

    `capturable`: torch's keep their count of steps on the device, so that a CUDA graph of a step
    counts on when it is replayed. Raises ValueError for any other name.
    """
    if case_optimizer == "adamw":
        return AdamW(parameters)
    if case_optimizer not in ("foreach", "fused"):
        raise ValueError(f"optimizer: {case_optimizer!r} is not one of adamw, foreach, fused")
    return torch.optim.AdamW(
        parameters,
        lr=LEARNING_RATE,
        betas=BETAS,
        eps=EPS,
        weight_decay=WEIGHT_DECAY,
        foreach=case_optimizer == "foreach",
        fused=case_optimizer == "fused",
        capturable=capturable,
    )
