"""Times the first steps of this process, so that none may run before; or records their cause."""

from workflow_src.measure.phases import run_phases
from workflow_src.measure.timing import time_steps
from workflow_src.measure.workload import Workload
from workflow_src.studies.models import case_of, with_known_sizes
from workflow_src.studies.run_point import main
from workflow_src.studies.study import Point, Row
from workflow_src.studies.warmup.cause import PHASES, about, measure_cause
from workflow_src.studies.warmup.points import POINT


def measure(point: Point) -> list[Row]:
    """A row per phase with the time of every step; those of the warm-up are in `warmup_ns`.

    Of a point of the cause, the rows of `measure_cause`.
    """
    if point.get("cause"):
        return measure_cause(point)
    case = case_of(point, point["size"], "fp32")
    sizes = point["sizes"][case.size]
    common = about(point) | {"warmup_steps": point["warmup_steps"], **sizes}

    def run(workload: Workload, phase: str) -> Row:
        step, wait = workload.phase(phase), workload.synchronize
        warmup = time_steps(step, wait, point["warmup_steps"])
        return {"warmup_ns": warmup, "samples_ns": time_steps(step, wait, point["steps"])}

    return [common | {"phase": phase} | row for phase, row in run_phases(case, run, PHASES)]


if __name__ == "__main__":
    main(measure, POINT, with_known_sizes)
