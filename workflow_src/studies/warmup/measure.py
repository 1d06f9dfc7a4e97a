"""Times the first steps of this process, so that none may run before; or tries what causes them."""

from collections.abc import Iterator

from workflow_src.measure.timing import time_steps
from workflow_src.measure.workload import Workload, run_phases
from workflow_src.studies.models import case_of
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import main
from workflow_src.studies.warmup.cause import PHASES, trials


def tasks(point: Point) -> Iterator[Row]:
    """By phase the times of all steps; those of the warm-up are in `warmup_ns`. Of a point with
    `repeats`, the rows of `trials`."""
    ((size, numbers),) = point["sizes"].items()
    case = case_of(point, size, "fp32")
    about = {"config": case.case, "size": size, "context": case.context, "batch": case.batch}
    if "repeats" in point:
        yield from (about | row for row in trials(point))
        return
    about |= {"warmup_steps": point["warmup_steps"], **numbers}

    def run(workload: Workload, phase: str) -> Row:
        step, wait = workload.phase(phase), workload.synchronize
        warmup = time_steps(step, wait, point["warmup_steps"])
        return {"warmup_ns": warmup, "samples_ns": time_steps(step, wait, point["steps"])}

    for phase, row in run_phases(case, run, PHASES):
        yield about | {"phase": phase} | row


if __name__ == "__main__":
    main(tasks)
