"""Measures the MLP: scaled sizes, and a sweep over its width."""

from collections.abc import Iterator
from functools import partial

import torch
from torch import nn

from workflow_src.measure.precision import use_precision
from workflow_src.measure.timing import Call
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import Task, main


def tasks(point: Point) -> Iterator[Task]:
    """Tasks of two parts: scaling and sweep (over dim)."""
    use_precision("fp32")
    base, device = point["base"], point["device"]
    train = partial(training, device)
    grown = [(axis, by, base | {axis: base[axis] * by}) for axis in base for by in point["factors"]]
    for axis, by, sizes in [("base", 1, base), *grown]:
        about = {"part": "scaling", "axis": axis, "factor": by} | sizes
        yield Task(about, partial(train, sizes))
    for dim in point["dims"]:
        sizes = base | {"steps": 1, "dim": dim}
        yield Task({"part": "sweep"} | sizes, partial(train, sizes), profiled=True)


def training(device: str, sizes: Row) -> Call:
    """A call that trains an MLP of `layers` (Linear(dim, dim), ReLU) for `steps` float32 steps."""
    torch.manual_seed(0)
    with torch.device(device):
        dim = sizes["dim"]
        layers = [(nn.Linear(dim, dim), nn.ReLU()) for _ in range(sizes["layers"])]
        model = nn.Sequential(*(module for layer in layers for module in layer))
        inputs, targets = (torch.randn(sizes["batch"], dim) for _ in range(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def run() -> None:
        for _ in range(sizes["steps"]):
            optimizer.zero_grad(set_to_none=True)
            torch.autograd.backward(nn.functional.mse_loss(model(inputs), targets))
            optimizer.step()

    return run


if __name__ == "__main__":
    main(tasks)
