"""LayerNorm with its mean and variance computed in 16-bit types, and in float32."""

from collections.abc import Iterator
from itertools import product

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from workflow_src.studies.precision.points import OVERFLOWS
from workflow_src.studies.study import Point, Row

NARROW = {"fp16": torch.float16, "bf16": torch.bfloat16}

EPS = 1e-5
"""What LayerNorm adds to the variance (torch's default)."""


def added_up(x: Tensor) -> Tensor:
    """The sum over the last dimension, rounded to the type of `x` after each addition.

    In pairs, as reductions on a GPU add: the error grows with the logarithm of the length, not
    with the length (Higham 1993). The length is a power of two.
    """
    while x.shape[-1] > 1:
        x = x[..., 0::2] + x[..., 1::2]
    return x


def normalized(x: Tensor, statistics: torch.dtype) -> tuple[Tensor, Tensor]:
    """`x` normalized over its last dimension in float32, and the variance that was used.

    Mean and variance are computed in the type `statistics`.
    """
    given, count = x.to(statistics), x.shape[-1]
    mean = added_up(given) / count
    variance = added_up((given - mean) ** 2 / count)
    scale = torch.rsqrt(variance.float() + EPS)
    return (x.float() - mean.float()) * scale, variance


def layer_norms(point: Point) -> Iterator[Row]:
    """A row per type of the input, type of the statistics and standard deviation of the input.

    `largest_error` is that of the output, whose standard deviation is 1, against the same input
    normalized in double precision; `stored_error` is what storing the exact output in the type of
    the input costs. `variance` says whether it stayed finite.
    """
    settings, device = point["layer_norm"], point["device"]
    torch.manual_seed(0)
    standard = torch.randn(settings["rows"], settings["width"], dtype=torch.float64)
    for (name, dtype), deviation in product(NARROW.items(), settings["deviations"]):
        x = (standard * deviation).to(dtype).to(device)
        exact = exactly(x)
        for used in ("fp32", name):
            found, variance = normalized(x, NARROW.get(used, torch.float32))
            yield {
                "part": "layer_norm",
                "device": device,
                "status": "ok",
                "reason": "",
                "variant": name,
                "statistics": used,
                "deviation": deviation,
                "width": settings["width"],
                "largest_error": largest(found.double() - exact),
                "stored_error": largest(exact.to(dtype).double() - exact),
                "variance": "finite" if variance.isfinite().all() else OVERFLOWS,
            }


def largest(error: Tensor) -> float:
    """The largest absolute value."""
    return float(error.abs().max())


def exactly(x: Tensor) -> Tensor:
    """`x` normalized over its last dimension in double precision."""
    return layer_norm(x.double(), x.shape[-1:], eps=EPS)
