"""Measures phases, and a forward pass's activities."""

from collections.abc import Iterator
from functools import partial

from workflow_src.common.case import Case
from workflow_src.measure.activities import activities_of
from workflow_src.measure.benchmark import measure as measure_phases
from workflow_src.measure.memory import memory_before_mib
from workflow_src.measure.timing import several
from workflow_src.measure.workload import Workload
from workflow_src.studies.models import case_of, identity
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import Task, main


def tasks(point: Point) -> Iterator[Task | Row]:
    """By size a row per phase, all of one workload; if a forward pass ran, one of its
    activities."""
    for size in (name for name in point["measured"] if name in point["sizes"]):
        case = case_of(point, size, point["precision"])
        about = identity(case)
        before = {"memory_before_mib": memory_before_mib(case.device)}
        phases = measure_phases(case, point["warmup_steps"], point["steps"])
        for phase, row in phases.items():
            yield {"measurement": "phase"} | about | {"phase": phase} | before | row
        if phases["forward"]["status"] == "ok":
            profiled = partial(forward, case, point["steps"])
            yield Task({"measurement": "profile"} | about, profiled)


def forward(case: Case, steps: int) -> Row:
    """The `activities` of `steps` forward passes together."""
    run = several(Workload(case).forward, steps)
    return {"steps": steps, "activities": activities_of(run, case.device)}


if __name__ == "__main__":
    main(tasks)
