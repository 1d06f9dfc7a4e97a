"""Measures all implementations of GeLU and softmax, next to a copy of the same bytes."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import torch
from torch import Tensor
from torch.nn import functional

from workflow_src.common.errors import UnavailableError
from workflow_src.measure.compiling import NO_COMPILER, compiler_is_missing
from workflow_src.measure.timing import Call, in_rotation, l2_bytes, sets_beyond, wake
from workflow_src.model.attention import fused_softmax, written_out_softmax
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import Task, main

Operation = Callable[[Tensor], Tensor]

CHUNK = 2**24
"""Elements compared at a time, because float64 takes much memory."""

ERROR_LIMITS = {"float32": 1e-5, "float16": 5e-3, "bfloat16": 3e-2}
"""The largest acceptable relative error; that of rounding each operation is smaller."""


def tasks(point: Point) -> Iterator[Task]:
    """A task per dtype, shape and implementation; the copy of a shape comes first.

    Kernels are counted once for all shapes that launch alike: their number can depend on the length
    of softmax's rows, not on how many these are, and for GeLU on neither.
    """
    device = point["device"]
    wake(partial(torch.rand, CHUNK, device=device), device, point["wake_s"])
    counted = set()
    for dtype, (rows, columns) in product(point["dtypes"], shapes(point)):
        for implementation in point["implementations"]:
            about = {"operation": point["operation"], "implementation": implementation}
            about |= {"dtype": dtype, "rows": rows, "columns": columns}
            alike = implementation, dtype, columns * (point["operation"] == "softmax")
            profiled = device == "cuda" and alike not in counted
            counted.add(alike)
            yield Task(about, partial(made, device, about), profiled)


def shapes(point: Point) -> list[tuple[int, int]]:
    """Rows and columns: each of the point's totals in rows of each length, or in a single row."""
    if "columns" not in point:
        return [(1, total) for total in point["totals"]]
    pairs = product(point["columns"], point["totals"])
    return [(total // columns, columns) for columns, total in pairs]


def made(device: str, about: Row) -> tuple[Call, Row]:
    """A call of an implementation on random numbers and copies of them in turn, and its error.

    No call finds its tensors in the L2 cache: each has an output of its own, too, which is part of
    the function only for a copy. Raises RuntimeError if the result is wrong, UnavailableError if
    the implementation can't run.
    """
    generator = torch.Generator(device).manual_seed(0)
    shape, dtype = (about["rows"], about["columns"]), getattr(torch, about["dtype"])
    x = torch.randn(shape, generator=generator, device=device, dtype=dtype)
    is_copy = about["implementation"] == "copy"
    function = build(about["operation"], about["implementation"], x)
    error = relative_error(function(x), x, EXACT["copy" if is_copy else about["operation"]])
    # Written so that NaN fails.
    if not error <= ERROR_LIMITS[about["dtype"]]:
        named = " ".join(about[key] for key in ("implementation", "operation", "dtype"))
        raise RuntimeError(f"{named}: error {error:.2g}")
    sets = sets_beyond(l2_bytes(device), 2 * x.nbytes)
    calls = [partial(function, x)]
    for _ in range(sets - 1):
        calls.append(partial(copy(x) if is_copy else function, x.clone()))
    return in_rotation(calls), {"relative_error": error} | ({"sets": sets} if sets > 1 else {})


def relative_error(result: Tensor, x: Tensor, exact: Operation) -> float:
    """|result - exact(x)| / |exact(x)|, norms over all elements, in float64; NaN if any element is.

    x, result: (rows, columns); compared a few rows, or a part of a single row, at a time.
    """
    rows = max(1, CHUNK // x.shape[1])
    parts = (x.view(-1), result.view(-1)) if x.shape[0] == 1 else (x, result)
    size = CHUNK if x.shape[0] == 1 else rows
    error = norm = 0.0  # squared
    for given, found in zip(parts[0].split(size), parts[1].split(size), strict=True):
        reference = exact(given.double())
        error += float((found.double() - reference).square().sum())
        norm += float(reference.square().sum())
    return math.sqrt(error / norm) if norm else math.nan


def written_out_gelu(x: Tensor) -> Tensor:
    """GeLU, tanh form (Hendrycks & Gimpel 2016), in eight operations; same shape as x."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + torch.tanh(inner))


def torchs_gelu(x: Tensor) -> Tensor:
    """PyTorch's own GeLU, tanh form; same shape as x."""
    return functional.gelu(x, approximate="tanh")


PLAIN: dict[str, dict[str, Operation]] = {
    "gelu": {"written_out": written_out_gelu, "torch": torchs_gelu},
    "softmax": {"written_out": written_out_softmax, "torch": fused_softmax},
}
"""The implementations that need no compiling, by operation."""

EXACT: dict[str, Operation] = {
    "gelu": torchs_gelu,
    "softmax": partial(torch.softmax, dim=-1),
    "copy": lambda x: x,
}
"""The reference for the result of an operation or a copy, to be computed in float64."""


def copy(x: Tensor) -> Operation:
    """A function that copies a tensor like x into a preallocated one."""
    out = torch.empty_like(x)
    return lambda source: out.copy_(source)


def compiled_gelu(device: str) -> Operation:
    """torch.compile of the written-out GeLU, specialized to the only shape that it will see.

    Raises UnavailableError on a CPU without a C++ compiler.
    """
    if compiler_is_missing(device):
        raise UnavailableError(NO_COMPILER[device])
    # After eight shapes of one function, torch.compile would silently stop compiling it.
    torch.compiler.reset()
    compiled: Operation = torch.compile(written_out_gelu, fullgraph=True, dynamic=False)
    return compiled


def build(operation: str, implementation: str, x: Tensor) -> Operation:
    """An implementation of an operation for tensors like x.

    Raises UnavailableError if it can't run here.
    """
    if implementation in PLAIN[operation]:
        return PLAIN[operation][implementation]
    if implementation == "copy":
        return copy(x)
    if implementation == "compiled":
        return compiled_gelu(x.device.type)
    if x.device.type != "cuda":
        raise UnavailableError("Triton compiles only for GPUs")
    # Imported here, because only the CUDA builds of PyTorch include Triton.
    try:
        from workflow_src.ops import gelu, softmax
    except ImportError as error:
        raise UnavailableError("Triton is not installed") from error
    return gelu.gelu if operation == "gelu" else softmax.softmax


if __name__ == "__main__":
    main(tasks)
