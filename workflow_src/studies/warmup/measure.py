"""Times the first steps of this process, none of which may have run before."""

from workflow_src.measure.benchmark import time_steps
from workflow_src.measure.workload import Workload
from workflow_src.studies.outcomes import free, in_turn
from workflow_src.studies.sizes import SIZES, sized_case
from workflow_src.studies.study import Point, Row
from workflow_src.studies.warmup.steps import describe

PHASES = ("forward", "forward_backward")


def measure_phases(point: Point) -> list[Row]:
    """A row per phase; after one that ran out of memory, the next is skipped."""
    case = sized_case(point["size"], point["device"], point["context"], point["batch"])
    about = {
        "config": case.case,
        "size": case.size,
        "context": case.context,
        "batch": case.batch,
        "warmup_steps": point["warmup_steps"],
        **SIZES[case.size],
    }
    built: list[Workload] = []

    def run(phase: str) -> Row:
        if not built:
            built.append(Workload(case))
        step, wait = built[0].phase(phase), built[0].synchronize
        warmup = time_steps(step, wait, point["warmup_steps"])
        return describe(warmup, time_steps(step, wait, point["steps"]))

    def release() -> None:
        built.clear()
        free(case.device)

    return [about | {"phase": name} | row for name, row in in_turn(PHASES, run, release)]
