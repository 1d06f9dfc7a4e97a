"""Measures square matrix products: rates, and the kernels that ran."""

import random
import re
from collections.abc import Callable

import pandas as pd
import torch
from torch import Tensor

from workflow_src.common.summary import NS_PER_MS
from workflow_src.measure.workload import use_precision
from workflow_src.studies.matmul.tiles import (
    divisibility_sizes,
    divisor,
    edge_near,
    edge_sizes,
    waves,
)
from workflow_src.studies.outcomes import attempt, free
from workflow_src.studies.repeats import time_within
from workflow_src.studies.study import Point, Row
from workflow_src.studies.timing import activities_of
from workflow_src.traces.kernel_names import precision_ran

BUDGET_MS = {"cuda": 100.0, "cpu": 40.0}
SAMPLE_MS = 1.0
FP8 = torch.float8_e4m3fn
TYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}
NEEDS = {"tf32": (8, 0), "fp8": (8, 9)}
"""The least compute capability that multiplies in a precision."""


def measure_products(point: Point) -> list[Row]:
    """A row per product; see measure_sizes and measure_fine."""
    torch.manual_seed(0)
    return measure_sizes(point) if point["point"] == "sizes" else measure_fine(point)


def refusal(precision: str, device: str) -> str:
    """Why this device doesn't multiply in `precision`, or nothing."""
    if precision not in NEEDS:
        return ""
    needs = NEEDS[precision]
    if device == "cuda" and torch.cuda.get_device_capability() >= needs:
        return ""
    return f"{precision} needs a CUDA device of compute capability {needs[0]}.{needs[1]} or later"


def measure_sizes(point: Point) -> list[Row]:
    """A row per precision and size; one row with the reason for a precision that isn't there."""
    rows: list[Row] = []
    for precision in point["precisions"]:
        about = {"sweep": "sizes", "precision": precision}
        why = refusal(precision, point["device"])
        if why:
            rows.append(about | {"status": "skipped", "reason": why})
            continue
        rows += [about | measure_product(n, precision, point["device"]) for n in point["sizes"]]
    return rows


def measure_fine(point: Point) -> list[Row]:
    """A row per size across the tile edge nearest to `near`, and per size of the divisors."""
    device, precision = point["device"], point["precision"]
    about = {"sweep": "edge", "precision": precision}
    if device != "cuda":
        why = "a CPU has no multiprocessors that work off tiles in waves"
        edge, rows = point["near"], [about | {"status": "skipped", "reason": why}]
    else:
        there = torch.cuda.get_device_properties(0).multi_processor_count
        edge = edge_near(point["near"], there)
        found = measure_shuffled(edge_sizes(edge, point["reach"], point["step"]), precision, device)
        about |= {"multiprocessors": there, "edge": edge}
        rows = [about | row | {"waves": waves(row["n"], there)} for row in found]
    about = {"sweep": "divisibility", "precision": precision}
    return rows + [
        about | row for row in measure_shuffled(divisibility_sizes(edge), precision, device)
    ]


def measure_shuffled(sizes: list[int], precision: str, device: str) -> list[Row]:
    """A row per size, in the sizes' order.

    Measured in another, fixed order, so that a drifting clock isn't taken for an effect of n.
    """
    shuffled = random.Random(0).sample(sizes, len(sizes))
    rows = [measure_product(n, precision, device) for n in shuffled]
    return sorted(rows, key=lambda row: int(row["n"]))


def measure_product(n: int, precision: str, device: str) -> Row:
    """The row of an (n, n) by (n, n) product: times, TFLOP/s of 2 n^3 FLOPs, kernel."""

    def run() -> Row:
        call = product(n, precision, device)
        times = time_within(call, device, BUDGET_MS[device], SAMPLE_MS)
        tflops = 2 * n**3 / (times["median_ms"] * 1e9)
        return times | {"tflops": tflops} | kernel_of(activities_of(call, device))

    about = {"n": n, "divisor": divisor(n)}
    return about | attempt(run, release=lambda: free(device))


def product(n: int, precision: str, device: str) -> Callable[[], Tensor]:
    """A call that multiplies two (n, n) matrices of standard normal numbers in `precision`.

    fp8 is e4m3 with bf16 results, a scale of 1 and fast accumulation; its right-hand side is
    column-major, as the operator asks for.
    """
    use_precision(precision)
    a, b = (torch.randn(n, n, device=device) for _ in range(2))
    if precision != "fp8":
        a, b = a.to(TYPES[precision]), b.to(TYPES[precision])
        return lambda: a @ b
    left, right, one = a.to(FP8), b.to(FP8).t(), torch.ones((), device=device)
    return lambda: torch._scaled_mm(
        left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
    )


def kernel_of(activities: pd.DataFrame) -> Row:
    """The kernel with the most time, its tile and precision as its name tells, and busy time.

    A matrix multiplication where there is one. `kernels` and `busy_ms` are of all activities.
    """
    products = activities[activities["family"] == "gemm"]
    longest = (products if len(products) else activities).nlargest(1, "duration_ns")
    if not len(longest):
        return {"kernel": "", "tile": "", "ran": "", "kernels": 0, "busy_ms": 0.0}
    return {
        "kernel": str(longest["short_name"].iloc[0]),
        "tile": tile_of(str(longest["name"].iloc[0])),
        "ran": str(precision_ran(longest["name"], longest["family"]).iloc[0]),
        "kernels": len(activities),
        "busy_ms": float(activities["duration_ns"].sum()) / NS_PER_MS,
    }


def tile_of(name: str) -> str:
    """The tile in a kernel's name, as "128x256"; empty where the name has none."""
    found = re.search(r"(?<![A-Za-z0-9])(?:tilesize)?(\d{1,3}x\d{1,3})(?=[x_]|$)", name)
    return found[1] if found else ""
