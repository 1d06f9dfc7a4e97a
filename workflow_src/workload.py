"""What a brought function returns: a model, a batch, a loss and perhaps an optimizer.

See docs/own_model.md. Any other object with these attributes will do, too. `range_(name)` marks a
range of one's own for whichever profiler listens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from workflow_src.model.ranges import range_ as range_


@dataclass(frozen=True)
class Workload:
    """What one step computes.

    model: on the device that the function was given. batch: the arguments of one forward pass,
    `model(*batch)`. loss: `loss(model, *batch)` calls the model and returns a scalar tensor with a
    gradient. optimizer: over the model's parameters; None for AdamW over those that need a
    gradient.
    """

    model: nn.Module
    batch: tuple[Any, ...]
    loss: Callable[..., Tensor]
    optimizer: Optimizer | None = None
