"""Why first steps are slow: a trial with cuBLAS started and all code loaded before."""

import json
import os
import time
from collections.abc import Iterator

import torch

from workflow_src.common.arguments import new_file, stage_arguments
from workflow_src.common.atomic_write import write_json
from workflow_src.common.errors import StageError
from workflow_src.measure.machine import use_threads
from workflow_src.measure.memory import limited_memory
from workflow_src.measure.processes import written_by
from workflow_src.measure.timing import time_steps
from workflow_src.measure.workload import Workload
from workflow_src.studies.models import case_of
from workflow_src.studies.study import Point, Row

PHASES = ("forward", "forward_backward")

TRIALS = (("LAZY", False), ("LAZY", True), ("EAGER", True))
"""How a process of the trial loads code, and whether a product starts cuBLAS before the first step.

CUDA loads a kernel's code at its first launch, or with the library that it belongs to. Where that
step starts cuBLAS itself, EAGER has all of cuBLAS's code loaded in it.
"""


def trials(point: Point) -> Iterator[Row]:
    """A row of sweep "loading" per process and phase, `repeats` of TRIALS taking turns: the times
    (ns) of its steps, and of building the model."""
    for process, (mode, prepared) in enumerate(TRIALS * point["repeats"]):
        how = {"loading": mode, "prepared": prepared}
        labels = {"sweep": "loading"} | how | {"process": process}
        try:
            given = ["--point", json.dumps({**point, **how})]
            found = written_by(__name__, given, "the program")
        except StageError as error:
            yield labels | {"status": "skipped", "reason": str(error)}
            continue
        done = labels | {"status": "ok", "reason": "", "build_ns": found["build_ns"]}
        for phase, ns in found["steps_ns"].items():
            yield done | {"phase": phase, "steps_ns": ns}


def run(point: Point) -> Row:
    """Build the model (build_ns, in which CUDA starts), then run the first steps of each phase."""
    (size,) = point["sizes"]
    start = time.perf_counter_ns()
    workload = Workload(case_of(point, size, "fp32"))
    workload.synchronize()
    build_ns = time.perf_counter_ns() - start
    if point["prepared"]:
        # A product loads cuBLAS and makes its handle and workspace.
        one = torch.ones(8, 8, device=workload.device)
        (one @ one).sum().item()
    wait, steps = workload.synchronize, point["steps"]
    found = {phase: time_steps(workload.phase(phase), wait, steps) for phase in PHASES}
    return {"build_ns": build_ns, "steps_ns": found}


def main() -> None:
    """Run the first steps of this process."""
    given = stage_arguments(__doc__, point=json.loads, output=new_file)
    # It is read when CUDA starts.
    os.environ["CUDA_MODULE_LOADING"] = given.point["loading"]
    use_threads(given.point)
    with limited_memory(given.point["device"], given.point.get("memory_limit_gib")):
        write_json(given.output, run(given.point))


if __name__ == "__main__":
    main()
