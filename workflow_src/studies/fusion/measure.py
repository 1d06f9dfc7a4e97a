"""Measures all implementations of GeLU and softmax, next to a copy of the same bytes."""

import math
from collections.abc import Callable
from functools import partial
from itertools import product

import torch
from torch import Tensor

from workflow_src.common.errors import UnavailableError
from workflow_src.measure.activities import activities_of
from workflow_src.measure.ceilings import bandwidths
from workflow_src.measure.l2 import in_rotation, l2_bytes, sets_beyond
from workflow_src.measure.oom import attempt, free
from workflow_src.measure.progress import said
from workflow_src.measure.timing import time_call, wake
from workflow_src.studies.fusion.implementations import EXACT, Operation, build, copy
from workflow_src.studies.fusion.points import POINT, launches_alike
from workflow_src.studies.run_point import main
from workflow_src.studies.study import Point, Row

CHUNK = 2**24
"""Elements compared at a time, because float64 takes much memory."""

ERROR_LIMITS = {"float32": 1e-5, "float16": 5e-3, "bfloat16": 3e-2}
"""The largest acceptable relative error; that of rounding each operation is smaller."""


def measure(point: Point) -> list[Row]:
    """A row per dtype, shape and implementation; the copy of a shape comes first.

    Before all of them, the rows of measure.ceilings for bandwidth, if the point asks for them.
    """
    device = point["device"]
    ceilings = bandwidths(device, point["ceilings"]) if "ceilings" in point else []
    free(device)
    wake(partial(torch.rand, CHUNK, device=device), device, point["wake_s"])
    found: list[Row] = []
    for dtype, (rows, columns) in product(point["dtypes"], point["shapes"]):
        for implementation in point["implementations"]:
            about = {"operation": point["operation"], "implementation": implementation}
            about |= {"dtype": dtype, "rows": rows, "columns": columns}
            found.append(about | _outcome(about, point, _to_profile(about, point, found)))
        free(device)
    return [*ceilings, *found]


def _to_profile(about: Row, point: Point, found: list[Row]) -> bool:
    """Whether to count kernels: on a CUDA device, unless an earlier row has the same count."""
    known = (launches_alike(row) for row in found if "activities" in row)
    return point["device"] == "cuda" and launches_alike(about) not in known


def _outcome(about: Row, point: Point, profiled: bool) -> Row:
    """The measurement of one implementation, or the status and reason if it failed."""
    device = point["device"]
    try:
        row = attempt(partial(_measure_one, about, point, profiled), partial(free, device))
    except UnavailableError as error:
        row = {"status": "skipped", "reason": str(error)}
    return said(" ".join(map(str, about.values())), row)


def _measure_one(about: Row, point: Point, profiled: bool) -> Row:
    """Error, activities (if `profiled`) and times of one implementation on random numbers.

    Raises RuntimeError if the result is wrong, UnavailableError if the implementation can't run.
    """
    device, dtype = point["device"], getattr(torch, about["dtype"])
    shape = about["rows"], about["columns"]
    generator = torch.Generator(device).manual_seed(0)
    x = torch.randn(shape, generator=generator, device=device, dtype=dtype)
    function = build(about["operation"], about["implementation"], x)
    row: Row = {"relative_error": _checked_error(function, x, about)}
    call, sets = _beyond_l2(function, x, about)
    row |= {"sets": sets} if sets > 1 else {}
    if profiled:
        row["activities"] = activities_of(call, device)
    return row | {"samples_ns": time_call(call, device, point["warmup_steps"], point["steps"])}


def _beyond_l2(function: Operation, x: Tensor, about: Row) -> tuple[Callable[[], object], int]:
    """A call of `function` on copies of x in turn, so that none is in the L2 cache; their number.

    Each has an output of its own; only a copy's is part of the function.
    """
    sets = sets_beyond(l2_bytes(x.device.type), 2 * x.nbytes)
    calls = [partial(function, x)]
    for _ in range(sets - 1):
        copied = about["implementation"] == "copy"
        calls.append(partial(copy(x) if copied else function, x.clone()))
    return in_rotation(calls), sets


def _checked_error(function: Operation, x: Tensor, about: Row) -> float:
    """The relative error of function(x). Raises RuntimeError if it is above the limit."""
    exact = EXACT["copy" if about["implementation"] == "copy" else about["operation"]]
    error = relative_error(function(x), x, exact)
    # Written so that NaN fails.
    if not error <= ERROR_LIMITS[about["dtype"]]:
        named = " ".join(about[key] for key in ("implementation", "operation", "dtype"))
        raise RuntimeError(f"{named}: error {error:.2g}")
    return error


def relative_error(result: Tensor, x: Tensor, exact: Callable[[Tensor], Tensor]) -> float:
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


if __name__ == "__main__":
    main(measure, POINT)
