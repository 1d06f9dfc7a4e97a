"""Measures the MLP: scaled sizes, a sweep over its width, and operators of single operations."""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from workflow_src.common.summary import NS_PER_MS
from workflow_src.measure.workload import use_precision
from workflow_src.studies.mlp.sizes import BASE, SMALL_MATMUL, Sizes, scaled
from workflow_src.studies.outcomes import attempt, free, spread
from workflow_src.studies.study import Point, Row
from workflow_src.studies.timing import activities_of, time_call

Call = Callable[[], object]


def training(sizes: Sizes, device: str) -> Call:
    """`steps` training steps, in float32, of an MLP of `layers` times Linear(dim, dim) and ReLU."""
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
    return spread(time_call(call, point["device"], point["warmup_steps"], point["repeats"]))


def _train_and_time(sizes: Sizes, point: Point) -> Row:
    return _timed(training(sizes, point["device"]), point)


def scaling(point: Point) -> list[Row]:
    """The time of all steps together, at the base and with each size scaled by each factor."""
    device = point["device"]
    return [
        {"part": "scaling", "device": device, "axis": axis, "factor": factor, **sizes}
        | attempt(
            partial(_train_and_time, sizes, point),
            partial(free, device),
        )
        for axis, factor, sizes in scaled()
    ]


def _train_and_profile(sizes: Sizes, point: Point) -> Row:
    call = training(sizes, point["device"])
    timed = _timed(call, point)
    found = activities_of(call, point["device"])
    busy_ms = float(found["duration_ns"].sum()) / NS_PER_MS
    return timed | {"busy_ms": busy_ms, "busy_share": busy_ms / timed["median_ms"]}


def sweep(point: Point) -> list[Row]:
    """Time and device work of one step over dim, the other sizes as in the base."""
    device, rows = point["device"], []
    for dim in point["dims"]:
        sizes = {**BASE, "steps": 1, "dim": dim}
        row = attempt(
            partial(_train_and_profile, sizes, point),
            partial(free, device),
        )
        rows.append({"part": "sweep", "device": device, **sizes} | row)
    return rows


def _operations(point: Point) -> dict[str, Call]:
    width = point["width"]
    large, small = (torch.randn(n, n, device=point["device"]) for n in (width, SMALL_MATMUL))
    return {
        f"add {width} x {width}": lambda: large + large,
        f"matmul {width}": lambda: large @ large,
        f"matmul {SMALL_MATMUL}": lambda: small @ small,
        "MLP, one step": training({**BASE, "steps": 1}, point["device"]),
    }


def operators(point: Point) -> list[Row]:
    """Calls, device time and share of each operator and kernel in one call of each operation."""
    use_precision("fp32")
    rows: list[Row] = []
    for operation, call in _operations(point).items():
        about = {"part": "operators", "device": point["device"], "operation": operation}
        about |= {"status": "ok", "reason": ""} | _timed(call, point)
        found = activities_of(call, point["device"])
        found["operator"] = found["operator"].fillna("").replace("", "(none)")
        keys = {"operator": "operator", "kernel": "short_name", "family": "family"}
        total = int(found["duration_ns"].sum())
        for values, mine in found.groupby(list(keys.values()), sort=False):
            taken = int(mine["duration_ns"].sum())
            named = dict(zip(keys, values, strict=True))
            counted = {"calls": len(mine), "device_ms": taken / NS_PER_MS, "share": taken / total}
            rows.append(about | named | counted)
    return rows
