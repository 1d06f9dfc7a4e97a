"""Measures rounding in mixed precision, the types that it uses, and the times of models."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from workflow_src.common.case import Case
from workflow_src.measure.precision import AUTOCAST, use_precision
from workflow_src.measure.timing import Call
from workflow_src.measure.workload import Workload
from workflow_src.studies.models import case_of
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import Task, main

MEASUREMENTS = ("forward", "forward_backward", "scores")


def tasks(point: Point) -> Iterator[Task]:
    """Rounding and types, or a task per size, precision and measurement."""
    if "addend" in point:
        yield from rounding(point)
    for size, precision in product(point.get("sizes", ()), point.get("precisions", ())):
        case = case_of(point, size, precision)
        about = {"part": "speed", "size": size, **point["sizes"][size]}
        about |= {"context": case.context, "batch": case.batch, "precision": precision}
        for measurement in MEASUREMENTS:
            make = partial(call_of, case, measurement)
            yield Task(about | {"measurement": measurement}, make, precision in point["profiled"])


def call_of(case: Case, measurement: str) -> Call:
    """A phase of the model, or the scores of one layer."""
    return scores(case) if measurement == "scores" else Workload(case).phase(measurement)


def scores(case: Case) -> Call:
    """A call: q k^T of one layer, all heads and batch, in the case's precision, no conversions."""
    use_precision(case.precision)
    dtype = AUTOCAST.get(case.precision, torch.float32)
    shape = (case.batch, case.heads, case.context, case.d_head)
    q, k = (torch.randn(shape, device=case.device, dtype=dtype) for _ in range(2))
    return lambda: q @ k.transpose(-2, -1)


VARIANTS = {
    "fp32 into fp32": (torch.float32, torch.float32, False),
    "fp16 into fp16": (torch.float16, torch.float16, False),
    "fp16 into fp32": (torch.float32, torch.float16, False),
    "fp16 cast to fp32 into fp32": (torch.float32, torch.float16, True),
}
"""Types of sum and addend, and whether the addend is first cast to the sum's."""

NARROW = {"fp16": torch.float16, "bf16": torch.bfloat16}

EPS = 1e-5
"""What LayerNorm adds to the variance: torch's default."""


def rounding(point: Point) -> Iterator[Task]:
    """Tasks of three parts: accumulation, dtypes (a row per tensor) and layer_norm."""
    for name, types in VARIANTS.items():
        about = {"part": "accumulation", "variant": name}
        yield Task(about, partial(accumulated, point, *types))
    found = {name: types_seen(dtype, point["device"]) for name, dtype in AUTOCAST.items()}
    for tensor in found["fp16"]:
        under = {f"autocast_{name}": seen[tensor] for name, seen in found.items()}
        yield Task({"part": "dtypes", "tensor": tensor}, partial(dict, under))
    deviations, width = (point["layer_norm"][name] for name in ("deviations", "width"))
    for name, deviation in product(NARROW, deviations):
        for used in ("fp32", name):
            about = {"part": "layer_norm", "variant": name, "statistics": used}
            about |= {"deviation": deviation, "width": width}
            yield Task(about, partial(norm_errors, point, name, used, deviation))


def accumulated(point: Point, total: torch.dtype, addend: torch.dtype, cast: bool) -> Row:
    """Add `addend` `additions` times: the sum (`value`), its type, and the addend as stored, in
    double precision, which holds both exactly."""
    value = torch.tensor(0, dtype=total, device=point["device"])
    each = torch.tensor(point["addend"], dtype=addend, device=point["device"])
    for _ in range(point["additions"]):
        value += each.to(total) if cast else each
    numbers = {"value": value.double().item(), "addend": each.double().item()}
    return numbers | {"sum_dtype": short(total)}


def short(dtype: torch.dtype) -> str:
    """float16 for torch.float16."""
    return str(dtype).removeprefix("torch.")


def types_seen(dtype: torch.dtype, device: str) -> dict[str, str]:
    """The type of each tensor in one forward and backward pass of a small model under autocast."""
    torch.manual_seed(0)
    layers = {"fc1": nn.Linear(8, 16), "relu": nn.ReLU(), "norm": nn.LayerNorm(16)}
    model = nn.Sequential(OrderedDict(layers | {"fc2": nn.Linear(16, 4)})).to(device)
    inputs, targets = torch.randn(4, 8, device=device), torch.arange(4, device=device)
    seen = {f"{name} (parameter)": short(p.dtype) for name, p in model.named_parameters()}

    def note(name: str) -> Callable[[nn.Module, object, Tensor], None]:
        return lambda module, given, made: seen.update({name: short(made.dtype)})

    def note_gradient(name: str) -> Callable[[Tensor], None]:
        return lambda p: seen.update({name: "none" if p.grad is None else short(p.grad.dtype)})

    for name, module in model.named_children():
        module.register_forward_hook(note(f"{name} (output)"))
    for name, parameter in model.named_parameters():
        parameter.register_post_accumulate_grad_hook(note_gradient(f"{name} (gradient)"))
    with torch.autocast(device, dtype=dtype):
        logits = model(inputs)
        loss = nn.functional.cross_entropy(logits, targets)
    seen |= {"logits": short(logits.dtype), "loss": short(loss.dtype)}
    torch.autograd.backward(loss)
    return seen


def added_up(x: Tensor) -> Tensor:
    """The sum over the last dimension, rounded to the type of `x` after each addition.

    In pairs, as reductions on a GPU add: the error grows with the logarithm of the length, not with
    the length (Higham 1993). The length is a power of two.
    """
    while x.shape[-1] > 1:
        x = x[..., 0::2] + x[..., 1::2]
    return x


def norm_errors(point: Point, name: str, used: str, deviation: float) -> Row:
    """LayerNorm in float32 of random numbers in the type `name`, with statistics in `used`.

    `largest_error` is that of the output, whose standard deviation is 1, against the same input
    normalized in double precision; `stored_error` is what storing the exact output in the input's
    type costs.
    """
    settings, dtype = point["layer_norm"], NARROW[name]
    torch.manual_seed(0)
    standard = torch.randn(settings["rows"], settings["width"], dtype=torch.float64)
    x = (standard * deviation).to(dtype).to(point["device"])
    exact = layer_norm(x.double(), x.shape[-1:], eps=EPS)
    given, count = x.to(NARROW.get(used, torch.float32)), x.shape[-1]
    mean = added_up(given) / count
    variance = added_up((given - mean) ** 2 / count)
    found = (x.float() - mean.float()) * torch.rsqrt(variance.float() + EPS)
    return {
        "largest_error": float((found.double() - exact).abs().max()),
        "stored_error": float((exact.to(dtype).double() - exact).abs().max()),
        "variance": "finite" if variance.isfinite().all() else "overflows",
    }


if __name__ == "__main__":
    main(tasks)
