"""A rank whose way `summed` adds gradients up instead of averaging them."""

from typing import Any

import torch.distributed as dist

from workflow_src.model.transformer import TransformerLM
from workflow_src.studies.ranks import measure, ways


def summed(model: TransformerLM) -> ways.Trained:
    """Wrong: a sum over ranks is as many times the mean."""

    def average() -> None:
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)

    return ways.Trained(model, average)


def run(number: int, *given: Any) -> None:
    """As ranks.measure.run."""
    ways.BUILD["summed"] = summed
    measure.run(number, *given)
