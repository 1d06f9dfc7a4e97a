"""Measures training steps of an MLP by its width."""

from collections.abc import Iterator
from functools import partial

import torch
from torch import nn

from workflow_src.measure.precision import use_precision
from workflow_src.measure.timing import Call
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import Task, main


def tasks(point: Point) -> Iterator[Task]:
    """A profiled task per width."""
    use_precision("fp32")
    for dim in point["dims"]:
        sizes = {name: point[name] for name in ("layers", "batch")} | {"dim": dim}
        make = partial(training, point["device"], sizes)
        yield Task({"part": "sweep"} | sizes, make, profiled=True)


def training(device: str, sizes: Row) -> Call:
    """A call that trains an MLP of `layers` (Linear(dim, dim), ReLU) for a step in float32."""
    torch.manual_seed(0)
    with torch.device(device):
        dim = sizes["dim"]
        layers = [(nn.Linear(dim, dim), nn.ReLU()) for _ in range(sizes["layers"])]
        model = nn.Sequential(*(module for layer in layers for module in layer))
        inputs, targets = (torch.randn(sizes["batch"], dim) for _ in range(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def run() -> None:
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(nn.functional.mse_loss(model(inputs), targets))
        optimizer.step()

    return run


if __name__ == "__main__":
    main(tasks)
