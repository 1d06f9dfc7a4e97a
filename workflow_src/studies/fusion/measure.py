"""Measure GeLU and softmax in all their implementations, beside a copy of the same bytes."""

import math
import os
import shutil
import time
from collections.abc import Callable
from functools import cache, partial

import torch
from torch import Tensor
from torch.nn import functional

from workflow_src.common.summary import NS_PER_MS
from workflow_src.model.attention import fused_softmax, written_out_softmax
from workflow_src.ops import UnavailableError
from workflow_src.studies.outcomes import attempt, free, spread
from workflow_src.studies.study import Point, Row
from workflow_src.studies.timing import activities_of, time_call

CHUNK = 2**24
"""Elements compared at a time: float64 takes much memory."""

ERROR_LIMITS = {"float32": 1e-5, "float16": 5e-3, "bfloat16": 3e-2}
"""Largest relative error of a result that counts as right; rounding each operation stays below."""

WAKE_S = 0.3
Operation = Callable[[Tensor], object]


def written_out_gelu(x: Tensor) -> Tensor:
    """GeLU, tanh form (Hendrycks & Gimpel 2016), in eight operations; same shape as x."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + torch.tanh(inner))


def torchs_gelu(x: Tensor) -> Tensor:
    """PyTorch's own GeLU, tanh form; same shape as x."""
    return functional.gelu(x, approximate="tanh")


def copy(x: Tensor) -> Operation:
    """A copy of x into a tensor that is there already."""
    out = torch.empty_like(x)
    return lambda source: out.copy_(source)


def compiled_gelu(device: str) -> Operation:
    """torch.compile of the written-out GeLU, specialised to the one shape that it will see.

    Raises UnavailableError on a CPU without a C++ compiler.
    """
    named = os.environ.get("CXX")
    names = [named] if named else ["g++", "clang++"]
    if device == "cpu" and not any(map(shutil.which, names)):
        raise UnavailableError("torch.compile needs a C++ compiler, and there is none")
    # After eight shapes of one function torch.compile would quietly stop compiling it.
    torch.compiler.reset()
    compiled: Operation = torch.compile(written_out_gelu, fullgraph=True, dynamic=False)
    return compiled


def triton_kernel(operation: str, device: str) -> Operation:
    """The Triton kernel of an operation. Raises UnavailableError where Triton can't run."""
    if device != "cuda":
        raise UnavailableError("Triton compiles for GPUs alone")
    try:
        from workflow_src.ops.gelu import gelu
        from workflow_src.ops.softmax import softmax
    except ImportError as error:
        raise UnavailableError("Triton is not installed") from error
    return {"gelu": gelu, "softmax": softmax}[operation]


@cache
def cuda_gelu() -> Operation:
    """The CUDA C++ kernel, built once. Raises UnavailableError where it can't be."""
    from workflow_src.ops.cuda import build_gelu

    return build_gelu()


def build(operation: str, implementation: str, x: Tensor) -> Operation:
    """An implementation of an operation for tensors like x. Raises UnavailableError."""
    device = x.device.type
    builders: dict[str, Callable[[], Operation]] = {
        "copy": partial(copy, x),
        "compiled": partial(compiled_gelu, device),
        "triton": partial(triton_kernel, operation, device),
        "cuda": cuda_gelu,
        "written_out": lambda: {"gelu": written_out_gelu, "softmax": written_out_softmax}[
            operation
        ],
        "torch": lambda: {"gelu": torchs_gelu, "softmax": fused_softmax}[operation],
    }
    return builders[implementation]()


def relative_error(result: Tensor, x: Tensor, exact: Callable[[Tensor], Tensor]) -> float:
    """|result - exact(x)| / |exact(x)|, norms over all elements, in float64; NaN where one is.

    x, result: (rows, columns); compared a few rows, or a part of the one row, at a time.
    """
    rows = max(1, CHUNK // x.shape[1])
    parts = (x.view(-1), result.view(-1)) if x.shape[0] == 1 else (x, result)
    size = CHUNK if x.shape[0] == 1 else rows
    apart = length = 0.0
    for given, found in zip(parts[0].split(size), parts[1].split(size), strict=True):
        reference = exact(given.double())
        apart += float((found.double() - reference).square().sum())
        length += float(reference.square().sum())
    return math.sqrt(apart / length) if length else math.nan


EXACT: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": torchs_gelu,
    "softmax": partial(torch.softmax, dim=-1),
    "copy": lambda x: x,
}


def measure_operation(point: Point) -> list[Row]:
    """A row per dtype, shape and implementation; the copy of a shape comes first."""
    launches: dict[tuple[str, str, int], int] = {}
    wake(point["device"])
    return [
        row
        for dtype in point["dtypes"]
        for rows, columns in point["shapes"]
        for row in _measure_shape(point, dtype, (rows, columns), launches)
    ]


def _measure_shape(
    point: Point, dtype: str, shape: tuple[int, int], launches: dict[tuple[str, str, int], int]
) -> list[Row]:
    """The rows of one shape, each with its share of the copy's bandwidth."""
    operation, device = point["operation"], point["device"]
    found = []
    for implementation in point["implementations"]:
        row = {
            "operation": operation,
            "implementation": implementation,
            "dtype": dtype,
            "rows": shape[0],
            "columns": shape[1],
            "elements": shape[0] * shape[1],
        }
        one = partial(_measure_one, point, implementation, dtype, shape, launches)
        try:
            row |= attempt(one, partial(free, device))
        except UnavailableError as error:
            row |= {"status": "skipped", "reason": str(error)}
        found.append(row)
        print(implementation, dtype, shape, row.get("median_ms", row["status"]), flush=True)
    free(device)
    copied = found[0].get("achieved_gb_per_s")
    for row in found:
        if copied and "achieved_gb_per_s" in row:
            row["share_of_copy"] = row["achieved_gb_per_s"] / copied
    return found


def _measure_one(
    point: Point,
    implementation: str,
    dtype: str,
    shape: tuple[int, int],
    launches: dict[tuple[str, str, int], int],
) -> Row:
    """Time, launches (CUDA) and error of one implementation on random numbers; GB are 10^9 bytes.

    Raises RuntimeError where the result is not right.
    """
    device = point["device"]
    generator = torch.Generator(device).manual_seed(0)
    x = torch.randn(shape, generator=generator, device=device, dtype=getattr(torch, dtype))
    function = build(point["operation"], implementation, x)
    result = function(x)
    assert isinstance(result, Tensor)
    exact = EXACT["copy" if implementation == "copy" else point["operation"]]
    error = relative_error(result, x, exact)
    if not error <= ERROR_LIMITS[dtype]:
        raise RuntimeError(f"{implementation} {point['operation']} {dtype}: error {error:.2g}")
    del result
    call = partial(function, x)
    # A kernel more or less depends on the length of rows, not on how many there are.
    key = (implementation, dtype, shape[1] if point["operation"] == "softmax" else 0)
    if device == "cuda" and key not in launches:
        launches[key] = len(activities_of(call, device))
    times = spread(time_call(call, device, point["warmup_steps"], point["steps"]))
    moved = 2 * x.numel() * x.element_size()
    return times | {
        "kernels_launched": launches.get(key),
        "bytes_moved": moved,
        "achieved_gb_per_s": moved / (times["median_ms"] * NS_PER_MS),
        "relative_error": error,
    }


def wake(device: str) -> None:
    """Keep a CUDA device busy until its clocks have left idle."""
    if device != "cuda":
        return
    x = torch.randn(CHUNK, device=device)
    begin = time.perf_counter()
    while time.perf_counter() - begin < WAKE_S:
        copy(x)(x)
        torch.cuda.synchronize()
