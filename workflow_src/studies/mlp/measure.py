"""Measures the MLP: scaled sizes, a sweep over its width, and single operations."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from workflow_src.measure.activities import activities_of
from workflow_src.measure.l2 import in_rotation, l2_bytes, sets_beyond
from workflow_src.measure.oom import attempt, free
from workflow_src.measure.precision import use_precision
from workflow_src.measure.progress import said
from workflow_src.measure.timing import time_call
from workflow_src.studies.mlp.points import POINT, Sizes, scaled
from workflow_src.studies.run_point import main
from workflow_src.studies.study import Point, Row

Call = Callable[[], object]


def measure(point: Point) -> list[Row]:
    """Rows of three parts: scaling, sweep (over dim) and operations."""
    return [*scaling(point), *sweep(point), *operations(point)]


def training(sizes: Sizes, device: str) -> Call:
    """A call that trains an MLP of `layers` (Linear(dim, dim), ReLU) for `steps` float32 steps."""
    use_precision("fp32")
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


def _timed(call: Call, point: Point) -> Row:
    samples = time_call(call, point["device"], point["warmup_steps"], point["repeats"])
    return {"samples_ns": samples}


def _timed_and_profiled(call: Call, point: Point) -> Row:
    return _timed(call, point) | {"activities": activities_of(call, point["device"])}


def _observed(
    name: str, make: Callable[[], Call], observe: Callable[[Call, Point], Row], point: Point
) -> Row:
    """The row of `observe` for the call that `make` builds; out of memory is a result."""
    row = attempt(lambda: observe(make(), point), partial(free, point["device"]))
    return said(name, row)


def _train(sizes: Sizes, observe: Callable[[Call, Point], Row], point: Point) -> Row:
    name = " ".join(f"{axis} {size}" for axis, size in sizes.items())
    return _observed(name, partial(training, sizes, point["device"]), observe, point)


def scaling(point: Point) -> list[Row]:
    """The total time of all steps, at the base and with each size scaled by each factor."""
    about = {"part": "scaling", "device": point["device"]}
    return [
        about | {"axis": axis, "factor": factor, **sizes} | _train(sizes, _timed, point)
        for axis, factor, sizes in scaled(point["base"], point["factors"])
    ]


def sweep(point: Point) -> list[Row]:
    """Time and activities of one step over dim, with the other sizes as in the base."""
    about = {"part": "sweep", "device": point["device"]}
    swept = [point["base"] | {"steps": 1, "dim": dim} for dim in point["dims"]]
    return [about | sizes | _train(sizes, _timed_and_profiled, point) for sizes in swept]


def _with_itself(operation: Callable[[Tensor, Tensor], Tensor], width: int, device: str) -> Call:
    """A call of `operation` on a (width, width) matrix and itself, in rotation; see measure.l2."""
    sets = sets_beyond(l2_bytes(device), 2 * 4 * width**2)
    matrices = torch.randn(sets, width, width, device=device)
    return in_rotation([partial(operation, matrix, matrix) for matrix in matrices])


def _operations(point: Point) -> dict[str, Callable[[], Call]]:
    """A function for each operation that builds its call."""
    device, width, small_width = point["device"], point["width"], point["small_width"]
    return {
        f"add {width} x {width}": partial(_with_itself, torch.add, width, device),
        f"matmul {width}": partial(_with_itself, torch.matmul, width, device),
        f"matmul {small_width}": partial(_with_itself, torch.matmul, small_width, device),
        "MLP, one step": partial(training, point["base"] | {"steps": 1}, device),
    }


def operations(point: Point) -> list[Row]:
    """Time and activities of one call of each operation."""
    use_precision("fp32")
    about = {"part": "operators", "device": point["device"]}
    return [
        about | {"operation": name} | _observed(name, make, _timed_and_profiled, point)
        for name, make in _operations(point).items()
    ]


if __name__ == "__main__":
    main(measure, POINT)
