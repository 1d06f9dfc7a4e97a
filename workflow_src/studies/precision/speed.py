"""Times a model in full precision and under autocast, and profiles its activities."""

from collections.abc import Callable, Iterator
from functools import partial

import torch

from workflow_src.common.case import Case
from workflow_src.measure.activities import activities_of
from workflow_src.measure.oom import attempt, free
from workflow_src.measure.phases import run_phases
from workflow_src.measure.precision import AUTOCAST, use_precision
from workflow_src.measure.progress import said
from workflow_src.measure.timing import time_call
from workflow_src.measure.workload import Workload
from workflow_src.studies.models import case_of
from workflow_src.studies.study import Point, Row

Call = Callable[[], object]

PHASES = ("forward", "forward_backward")


def speed(point: Point) -> Iterator[Row]:
    """A row per size, precision and measurement."""
    for size, numbers in point["sizes"].items():
        for precision in point["precisions"]:
            case = case_of(point, size, precision)
            about = {"part": "speed", "device": case.device, "size": size, **numbers}
            about |= {"context": case.context, "batch": case.batch, "precision": precision}
            for measurement, row in measure_case(case, point):
                yield about | {"measurement": measurement} | row


def measure_case(case: Case, point: Point) -> Iterator[tuple[str, Row]]:
    """Each measurement of a case with its row: the phases, then the attention scores alone."""

    def run(workload: Workload, phase: str) -> Row:
        return observe(workload.phase(phase), case, point, phase)

    yield from run_phases(case, run, PHASES)
    free(case.device)
    row = attempt(lambda: observe(scores(case), case, point, "scores"), partial(free, case.device))
    yield "scores", said(f"{case.case} scores", row)


def observe(call: Call, case: Case, point: Point, measurement: str) -> Row:
    """Time samples of a call and, in the profiled precisions, the activities of one call."""
    steps = point["steps"][measurement]
    samples = time_call(call, case.device, point["warmup_steps"], steps)
    if case.precision not in point["profiled"]:
        return {"samples_ns": samples}
    return {"samples_ns": samples, "activities": activities_of(call, case.device)}


def scores(case: Case) -> Call:
    """A call: q k^T of one layer, all heads and batch, in the case's precision, no conversions."""
    use_precision(case.precision)
    dtype = AUTOCAST.get(case.precision, torch.float32)
    shape = (case.batch, case.heads, case.context, case.d_head)
    q, k = (torch.randn(shape, device=case.device, dtype=dtype) for _ in range(2))
    return lambda: q @ k.transpose(-2, -1)
