"""Measures phases, a forward pass's activities by range, and the roofline's ceilings."""

from functools import partial

from workflow_src.common.case import Case
from workflow_src.measure.activities import activities_of
from workflow_src.measure.benchmark import measure as measure_phases
from workflow_src.measure.ceilings import bandwidths
from workflow_src.measure.memory import memory_before_mib
from workflow_src.measure.oom import attempt, free
from workflow_src.measure.operators import add_launched
from workflow_src.measure.products import products
from workflow_src.measure.progress import said
from workflow_src.measure.workload import Workload
from workflow_src.studies.accounting.points import POINT
from workflow_src.studies.models import case_of, with_known_sizes
from workflow_src.studies.run_point import main
from workflow_src.studies.study import Point, Row

NAMED = ("name", "shape", "layout")
"""What tells ceilings apart."""


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
    """The `activities` of `steps` forward passes together, each with its model range.

    Also what `launched` each in a pass of its own (measure/operators.py), with its own status.
    """

    def profiled() -> Row:
        workload = Workload(case)

        def run() -> None:
            for _ in range(steps):
                workload.forward()

        found = activities_of(run, case.device, ranges=True)
        passes = add_launched(workload, {"forward": {"status": "ok"}})
        return {"steps": steps, "activities": found, "launched": passes["forward"]["launched"]}

    return attempt(profiled, partial(free, case.device))


def measure_ceilings(point: Point) -> list[Row]:
    """The rows of measure.ceilings: bandwidth, and matrix products in the point's precision."""
    device, sizes = point["device"], point["ceilings"]
    rows = [*bandwidths(device, sizes), *products(device, point["precision"], sizes)]
    free(device)
    always = {"measurement": "ceiling", "precision": point["precision"]}
    return [
        row | always | {"ceiling": " ".join(filter(None, map(row.__getitem__, NAMED)))}
        for row in rows
    ]


if __name__ == "__main__":
    main(measure, POINT, with_known_sizes)
