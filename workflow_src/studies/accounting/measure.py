"""Measures phases, a forward pass's activities by range, and the roofline's two ceilings."""

from collections.abc import Callable
from functools import partial

import torch

from workflow_src.common.case import Case
from workflow_src.measure.activities import activities_of
from workflow_src.measure.benchmark import measure as measure_phases
from workflow_src.measure.memory import memory_before_mib
from workflow_src.measure.oom import attempt, free
from workflow_src.measure.progress import said
from workflow_src.measure.timing import time_call
from workflow_src.measure.workload import AUTOCAST, Workload, use_precision
from workflow_src.studies.accounting.points import POINT
from workflow_src.studies.models import case_of, with_known_sizes
from workflow_src.studies.run_point import main
from workflow_src.studies.study import Point, Row

Call = Callable[[], object]
Prepare = Callable[[torch.dtype, str], Call]


def measure(point: Point) -> list[Row]:
    """Rows of three kinds (`measurement`): phase and component by size, then ceiling."""
    device = point["device"]
    # On a GPU the ceilings come first: copies in freed and reallocated memory can be 10 % slower.
    # On a CPU they come last: their memory would count in the peaks of all that follows.
    ceilings = measure_ceilings(point) if device == "cuda" else []
    rows: list[Row] = []
    for size in point["measured"]:
        free(device)
        case = case_of(point, size, point["precision"])
        rows += measure_size(case, point["warmup_steps"], point["steps"])
    free(device)
    return [*rows, *(ceilings or measure_ceilings(point))]


def _about(case: Case, measurement: str) -> Row:
    names = ("size", "context", "batch", "precision")
    return {"measurement": measurement} | {name: getattr(case, name) for name in names}


def measure_size(case: Case, warmup_steps: int, steps: int) -> list[Row]:
    """A row per phase and, if the forward pass fits in memory, one with its activities."""
    before = {"memory_before_mib": memory_before_mib(case.device)}
    phases = measure_phases(case, warmup_steps, steps)
    rows = [
        _about(case, "phase") | {"phase": phase} | before | row for phase, row in phases.items()
    ]
    if phases["forward"]["status"] != "ok":
        return rows
    free(case.device)
    component = said(f"{case.case} by component", measure_forward(case, steps))
    return [*rows, _about(case, "component") | component]


def measure_forward(case: Case, steps: int) -> Row:
    """The `activities` of `steps` forward passes together, each with its model range."""

    def profiled() -> Row:
        workload = Workload(case)

        def run() -> None:
            for _ in range(steps):
                workload.forward()

        return {"steps": steps, "activities": activities_of(run, case.device, ranges=True)}

    return attempt(profiled, partial(free, case.device))


def measure_ceilings(point: Point) -> list[Row]:
    """The times of square matrix products in the point's precision, and of a copy in float32."""
    use_precision(point["precision"])
    dtype, elements = AUTOCAST.get(point["precision"], torch.float32), point["copy_elements"]
    products = [
        _ceiling(point, {"ceiling": f"matmul {side}", "side": side}, dtype, partial(matmul, side))
        for side in point["matmul_sides"]
    ]
    copied = _ceiling(
        point, {"ceiling": "copy", "elements": elements}, torch.float32, partial(copy, elements)
    )
    return [*products, copied]


def _ceiling(point: Point, about: Row, dtype: torch.dtype, prepare: Prepare) -> Row:
    """A ceiling's row: its description, and time samples of the call that `prepare` makes."""
    device = point["device"]

    def timed() -> Row:
        call = prepare(dtype, device)
        samples = time_call(call, device, point["warmup_steps"], point["ceiling_steps"])
        return {"samples_ns": samples}

    always = {"measurement": "ceiling", "precision": point["precision"]}
    named = {"dtype": str(dtype).removeprefix("torch.")}
    row = said(f"ceiling {about['ceiling']}", attempt(timed, partial(free, device)))
    return always | about | named | row


def matmul(side: int, dtype: torch.dtype, device: str) -> Call:
    """A call that multiplies two (side, side) matrices."""
    a, b = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    return lambda: a @ b


def copy(elements: int, dtype: torch.dtype, device: str) -> Call:
    """A call that copies a vector of `elements` elements into another one."""
    source = torch.randn(elements, device=device, dtype=dtype)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


if __name__ == "__main__":
    main(measure, POINT, with_known_sizes)
