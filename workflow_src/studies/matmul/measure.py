"""Measures square matrix products: times, and the kernels that ran."""

import random
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from workflow_src.measure.precision import unsupported, use_precision
from workflow_src.measure.timing import Call, in_rotation, l2_bytes, sets_beyond
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import Task, main

FP8 = torch.float8_e4m3fn
TYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp8": FP8}


def tasks(point: Point) -> Iterator[Task]:
    """A task per product: of all sizes in each precision, or of sizes near one another."""
    device = point["device"]
    if "top" in point:
        about = {"sweep": "divisibility", "precision": point["precision"]}
        # In a fixed order that isn't theirs, so that clock drift isn't taken for an effect of n.
        sizes = divisibility_sizes(point["top"])
        yield from products(random.Random(0).sample(sizes, len(sizes)), about, device)
        return
    for precision in point["precisions"]:
        about = {"sweep": "sizes", "precision": precision}
        if why := unsupported(precision, device):
            yield Task(about, {"status": "skipped", "reason": why}.copy)
        else:
            yield from products(point["n"], about, device)


def divisibility_sizes(top: int) -> list[int]:
    """Of the 128 sizes up to `top`, multiples of 8 and every third n: all kinds of divisors.

    If `top` is a multiple of 256, they take equally many tiles of 128 x 256 numbers, so that tiles
    make no difference between them.
    """
    return [n for n in range(top - 127, top + 1) if n % 8 == 0 or (top - n) % 3 == 0]


def products(sizes: list[int], about: Row, device: str) -> Iterator[Task]:
    """A profiled task per size."""
    for n in sizes:
        make = partial(product, n, about["precision"], device)
        yield Task(about | {"n": n}, make, profiled=True)


def product(n: int, precision: str, device: str) -> tuple[Call, Row]:
    """A call that multiplies two (n, n) matrices of standard normal numbers in `precision`.

    Calls take as many pairs in turn as a cache doesn't hold, which are told if several. fp8 is e4m3
    with bf16 results, a scale of 1 and fast accumulation; its right-hand side is column-major, as
    the operator requires.
    """
    sets = sets_beyond(l2_bytes(device), 3 * n * n * TYPES[precision].itemsize)
    use_precision(precision)
    one = torch.ones((), device=device)
    multiply = partial(_scaled, one) if precision == "fp8" else torch.matmul
    dtype = TYPES[precision]
    a, b = (torch.randn(sets, n, n, device=device).to(dtype) for _ in range(2))
    call = in_rotation([partial(multiply, *pair) for pair in zip(a, b, strict=True)])
    return call, {"sets": sets} if sets > 1 else {}


def _scaled(one: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch._scaled_mm(
        a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
    )


if __name__ == "__main__":
    main(tasks)
