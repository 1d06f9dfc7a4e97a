"""Measures rounding in mixed precision, the types that it uses, and the times of models."""

from collections.abc import Iterator
from functools import partial
from itertools import product

import torch

from workflow_src.common.case import Case
from workflow_src.measure.activities import activities_of
from workflow_src.measure.precision import AUTOCAST, use_precision
from workflow_src.measure.timing import Call, time_call
from workflow_src.measure.workload import Workload
from workflow_src.studies.models import case_of
from workflow_src.studies.precision.numerics import rounding
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
            timed = partial(observed, case, point, measurement)
            yield Task(about | {"measurement": measurement}, timed)


def observed(case: Case, point: Point, measurement: str) -> Row:
    """Time samples of a call and, in the profiled precisions, the activities of one call."""
    call = scores(case) if measurement == "scores" else Workload(case).phase(measurement)
    steps = point["steps"][measurement]
    samples = {"samples_ns": time_call(call, case.device, point["warmup_steps"], steps)}
    is_profiled = case.precision in point["profiled"]
    return samples | ({"activities": activities_of(call, case.device)} if is_profiled else {})


def scores(case: Case) -> Call:
    """A call: q k^T of one layer, all heads and batch, in the case's precision, no conversions."""
    use_precision(case.precision)
    dtype = AUTOCAST.get(case.precision, torch.float32)
    shape = (case.batch, case.heads, case.context, case.d_head)
    q, k = (torch.randn(shape, device=case.device, dtype=dtype) for _ in range(2))
    return lambda: q @ k.transpose(-2, -1)


if __name__ == "__main__":
    main(tasks)
