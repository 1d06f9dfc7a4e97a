"""Times a model in full precision and under autocast, and counts what its device does."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd
import torch

from workflow_src.common.case import Case
from workflow_src.common.summary import NS_PER_MS
from workflow_src.measure.workload import AUTOCAST, Workload, use_precision
from workflow_src.studies.outcomes import attempt, free, in_turn, spread
from workflow_src.studies.sizes import SIZES, sized_case
from workflow_src.studies.study import Point, Row
from workflow_src.studies.timing import activities_of, time_call

PHASES = ("forward", "forward_backward")
PROFILED = ("fp32", "bf16")
"""tf32 launches what fp32 does; profiling takes longer than timing."""


def copies(activities: pd.DataFrame) -> pd.DataFrame:
    """The activities that move or convert tensors, each once.

    Kernels of the copy family on a CUDA device (not memory operations, which convert nothing);
    on a CPU the operator that does the work, without those that only call it.
    """
    kernels = (activities["kind"] == "kernel") & (activities["family"] == "copy")
    operators = (activities["kind"] == "operator") & (activities["name"] == "aten::copy_")
    return activities[kernels | operators]


def device_work(activities: pd.DataFrame, median_ms: float) -> Row:
    """Busy time of one call, its share of the unprofiled median, and the copies in it."""
    moved, busy_ns = copies(activities), int(activities["duration_ns"].sum())
    return {
        "busy_ms": busy_ns / NS_PER_MS,
        "busy_share": busy_ns / NS_PER_MS / median_ms,
        "activities": len(activities),
        "copies": len(moved),
        "copy_ms": int(moved["duration_ns"].sum()) / NS_PER_MS,
        "copy_share": int(moved["duration_ns"].sum()) / busy_ns,
    }


def observe(call: Callable[[], object], case: Case, point: Point, steps: int) -> Row:
    """Spread of the times of a call and, of PROFILED precisions, the device's work in one."""
    timed = spread(time_call(call, case.device, point["warmup_steps"], steps))
    if case.precision not in PROFILED:
        return timed
    return timed | device_work(activities_of(call, case.device), timed["median_ms"])


def scores(case: Case) -> Callable[[], object]:
    """q k^T of one layer, all heads and batch, in the case's precision, without conversions."""
    use_precision(case.precision)
    dtype = AUTOCAST.get(case.precision, torch.float32)
    shape = (case.batch, case.heads, case.context, case.d_head)
    q, k = (torch.randn(shape, device=case.device, dtype=dtype) for _ in range(2))
    return lambda: q @ k.transpose(-2, -1)


def _phases(case: Case, point: Point, steps: Mapping[str, int]) -> Iterator[tuple[str, Row]]:
    built: list[Workload] = []

    def run(phase: str) -> Row:
        if not built:
            built.append(Workload(case))
        return observe(built[0].phase(phase), case, point, steps[phase])

    def release() -> None:
        built.clear()
        free(case.device)

    yield from in_turn(PHASES, run, release)
    release()


def measure_case(case: Case, point: Point) -> Iterator[tuple[str, Row]]:
    """Each measurement of a case with its row."""
    steps: dict[str, Any] = point["steps"]
    yield from _phases(case, point, steps)
    alone = attempt(
        lambda: observe(scores(case), case, point, steps["scores"]), lambda: free(case.device)
    )
    yield "scores", alone


def speed(point: Point) -> Iterator[Row]:
    """A row per size, precision and measurement."""
    for size in point["sizes"]:
        for precision in point["precisions"]:
            case = sized_case(size, point["device"], point["context"], point["batch"], precision)
            about = {"part": "speed", "device": case.device, "size": size, **SIZES[size]}
            about |= {"context": case.context, "batch": case.batch, "precision": precision}
            for measurement, row in measure_case(case, point):
                yield about | {"measurement": measurement} | row
