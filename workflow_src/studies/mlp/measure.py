"""Measures the MLP: scaled sizes, a sweep over its width, and single operations."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor, nn

from workflow_src.measure.l2 import in_rotation, l2_bytes, sets_beyond
from workflow_src.measure.precision import use_precision
from workflow_src.measure.timing import Call
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import Task, main


def tasks(point: Point) -> Iterator[Task]:
    """Tasks of three parts: scaling, sweep (over dim) and operators."""
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
    wide, small = point["width"], point["small_width"]
    operations = {
        f"add {wide} x {wide}": partial(with_itself, device, wide, torch.add),
        f"matmul {wide}": partial(with_itself, device, wide, torch.matmul),
        f"matmul {small}": partial(with_itself, device, small, torch.matmul),
        "MLP, one step": partial(train, base | {"steps": 1}),
    }
    for name, make in operations.items():
        yield Task({"part": "operators", "operation": name}, make, profiled=True)


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


def with_itself(device: str, width: int, operation: Callable[[Tensor, Tensor], Tensor]) -> Call:
    """A call of `operation` on a (width, width) matrix and itself, in rotation; see measure.l2."""
    sets = sets_beyond(l2_bytes(device), 2 * 4 * width**2)
    matrices = torch.randn(sets, width, width, device=device)
    return in_rotation([partial(operation, matrix, matrix) for matrix in matrices])


if __name__ == "__main__":
    main(tasks)
