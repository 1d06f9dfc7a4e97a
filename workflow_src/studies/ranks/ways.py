"""Ways to train a model on several ranks: when gradients are averaged, and who keeps what.

Each leaves in every rank the parameters that one process would have after a step on all ranks'
batches, or its part of them.
"""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from workflow_src.model.adamw import SETTINGS, build_optimizer
from workflow_src.model.transformer import TransformerLM


class Trained:
    """A model and how a rank trains it.

    average: what follows the backward pass, until gradients are those of all ranks' batches. run:
    from tokens to logits, if not the model itself. optimizer: if not one of all parameters.
    """

    def __init__(
        self,
        model: TransformerLM,
        average: Callable[[], None] = lambda: None,
        run: Callable[[Tensor], Tensor] | None = None,
        optimizer: Optimizer | None = None,
    ) -> None:
        self.model, self.average, self.run = model, average, run or model
        self.optimizer = optimizer or build_optimizer("fused", model.parameters())


def alone(model: TransformerLM) -> Trained:
    """No communication: each rank trains a model of its own."""
    return Trained(model)


def naive(model: TransformerLM) -> Trained:
    """After the backward pass an all-reduce per parameter, one after another."""

    def average() -> None:
        for gradient in _gradients(model):
            start_average(gradient).wait()

    return Trained(model, average)


def flat(model: TransformerLM) -> Trained:
    """After the backward pass one all-reduce of all gradients, copied together and back."""

    def average() -> None:
        gradients = _gradients(model)
        together = _flatten_dense_tensors(gradients)
        start_average(together).wait()
        averaged = _unflatten_dense_tensors(together, gradients)
        torch._foreach_copy_(gradients, list(averaged))

    return Trained(model, average)


def overlapped(model: TransformerLM) -> Trained:
    """An all-reduce per parameter, started by a hook as soon as backward has its gradient."""
    return Trained(model, _average_by_hooks(model))


def bucketed(model: TransformerLM) -> Trained:
    """Torch's DistributedDataParallel: all-reduces of buckets of gradients, during backward."""
    return Trained(model, run=DistributedDataParallel(model, gradient_as_bucket_view=True))


def sharded_optimizer(model: TransformerLM) -> Trained:
    """As `overlapped`, but each parameter's AdamW state is in one rank, which sends the result.

    The first stage of ZeRO (Rajbhandari et al. 2020) with whole parameters as shards: the largest
    go first, each to the rank that has least.
    """
    how = SETTINGS | {"fused": True, "foreach": False}
    sharded = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, **how)
    return Trained(model, _average_by_hooks(model), optimizer=sharded)


def fsdp(model: TransformerLM) -> Trained:
    """Torch's FSDP2: parameters, gradients and states in shards; blocks gathered when needed."""
    kind = next(model.parameters()).device.type
    mesh = init_device_mesh(kind, (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return Trained(model)


BUILD: dict[str, Callable[[TransformerLM], Trained]] = {
    each.__name__: each
    for each in (alone, naive, flat, overlapped, bucketed, sharded_optimizer, fsdp)
}
"""By name in points.yaml."""


def start_average(gradient: Tensor) -> dist.Work:
    """Start to replace a gradient by its mean over all ranks."""
    if dist.get_backend() == "nccl":
        operation = dist.ReduceOp.AVG
    else:
        # Gloo has no mean.
        gradient.div_(dist.get_world_size())
        operation = dist.ReduceOp.SUM
    work: dist.Work = dist.all_reduce(gradient, operation, async_op=True)
    return work


def _average_by_hooks(model: nn.Module) -> Callable[[], None]:
    """Have each gradient averaged as soon as it is there; returns what waits for all of them."""
    started: list[dist.Work] = []

    def start(parameter: Tensor) -> None:
        assert parameter.grad is not None
        started.append(start_average(parameter.grad))

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(start)

    def average() -> None:
        for each in started:
            each.wait()
        started.clear()

    return average


def _gradients(model: nn.Module) -> list[Tensor]:
    return [each.grad for each in model.parameters() if each.grad is not None]
