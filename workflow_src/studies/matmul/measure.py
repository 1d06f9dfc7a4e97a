"""Measures square matrix products: times, and the kernels that ran."""

import random
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from workflow_src.measure.activities import activities_of
from workflow_src.measure.l2 import in_rotation, l2_bytes, sets_beyond
from workflow_src.measure.oom import attempt, free
from workflow_src.measure.precision import unsupported, use_precision
from workflow_src.measure.progress import said
from workflow_src.measure.timing import time_within
from workflow_src.studies.matmul.points import POINT
from workflow_src.studies.matmul.tiles import divisibility_sizes, edge_near, edge_sizes, sizes_past
from workflow_src.studies.run_point import main
from workflow_src.studies.study import Point, Row

FP8 = torch.float8_e4m3fn
TYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp8": FP8}


def measure(point: Point) -> list[Row]:
    """A row per product; see measure_sizes and measure_fine."""
    torch.manual_seed(0)
    return measure_sizes(point) if point["point"] == "sizes" else measure_fine(point)


def measure_sizes(point: Point) -> list[Row]:
    """A row per precision and size; one row with the reason for an unsupported precision."""
    rows: list[Row] = []
    for precision in point["precisions"]:
        about = {"sweep": "sizes", "precision": precision}
        if why := unsupported(precision, point["device"]):
            rows.append(about | {"status": "skipped", "reason": why})
            continue
        rows += [about | measure_product(n, precision, point) for n in point["sizes"]]
    return rows


def measure_fine(point: Point) -> list[Row]:
    """A row per size across the tile edge nearest to `near`, just past it, and per divisibility."""
    about = {"sweep": "edge", "precision": point["precision"]}
    if point["device"] != "cuda":
        why = "a CPU has no multiprocessors that process tiles in waves"
        edge, rows = point["near"], [about | {"status": "skipped", "reason": why}]
    else:
        there = torch.cuda.get_device_properties(0).multi_processor_count
        edge = edge_near(point["near"], there)
        about |= {"multiprocessors": there, "edge": edge}
        sizes = edge_sizes(edge, point["reach"], point["step"])
        rows = [about | row for row in measure_shuffled(sizes, point)]
        just_past = about | {"sweep": "past_edge"}
        rows += [just_past | row for row in measure_shuffled(sizes_past(edge), point)]
    about = {"sweep": "divisibility", "precision": point["precision"]}
    return rows + [about | row for row in measure_shuffled(divisibility_sizes(edge), point)]


def measure_shuffled(sizes: list[int], point: Point) -> list[Row]:
    """A row per size, by rising size.

    Measured in a shuffled, fixed order, so that clock drift isn't mistaken for an effect of n.
    """
    shuffled = random.Random(0).sample(sizes, len(sizes))
    rows = [measure_product(n, point["precision"], point) for n in shuffled]
    return sorted(rows, key=lambda row: int(row["n"]))


def measure_product(n: int, precision: str, point: Point) -> Row:
    """The row of an (n, n) by (n, n) product: time samples and activities."""
    device = point["device"]

    def run() -> Row:
        sets = sets_beyond(l2_bytes(device), 3 * n * n * TYPES[precision].itemsize)
        call = product(n, precision, device, sets)
        times = time_within(call, device, point["budget_ms"], point["sample_ms"])
        times |= {"sets": sets} if sets > 1 else {}
        return times | {"activities": activities_of(call, device)}

    return {"n": n} | said(f"{precision} {n}", attempt(run, partial(free, device)))


def product(n: int, precision: str, device: str, sets: int = 1) -> Callable[[], object]:
    """A call that multiplies two (n, n) matrices of standard normal numbers in `precision`.

    Calls take `sets` pairs of matrices in turn, so that small ones are not read from a cache.
    fp8 is e4m3 with bf16 results, a scale of 1 and fast accumulation; its right-hand side is
    column-major, as the operator requires.
    """
    use_precision(precision)
    one = torch.ones((), device=device)
    multiply = partial(_scaled, one) if precision == "fp8" else torch.matmul
    dtype = TYPES[precision]
    a, b = (torch.randn(sets, n, n, device=device).to(dtype) for _ in range(2))
    return in_rotation([partial(multiply, *pair) for pair in zip(a, b, strict=True)])


def _scaled(one: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch._scaled_mm(
        a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
    )


if __name__ == "__main__":
    main(measure, POINT)
