"""Why first steps are slow: CUDA calls under nsys, and a trial with all code loaded before."""

import json
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch

from workflow_src.common import nsys_cli
from workflow_src.common.arguments import Parser, new_file
from workflow_src.common.atomic_write import write_json
from workflow_src.common.environment_variables import environment_variables
from workflow_src.common.errors import StageError, TraceError
from workflow_src.measure.machine import use_threads
from workflow_src.measure.memory_limit import limited_memory
from workflow_src.measure.timing import time_steps
from workflow_src.measure.windows import nsys_window
from workflow_src.measure.workload import Workload
from workflow_src.model.ranges import range_
from workflow_src.studies.models import case_of, with_known_sizes
from workflow_src.studies.programs import command_of, written_by
from workflow_src.studies.run_point import point_of
from workflow_src.studies.study import Point, Row
from workflow_src.studies.warmup.points import EAGER, LAZY, POINT

PHASES = ("forward", "forward_backward")
TRIALS = ((LAZY, False), (LAZY, True), (EAGER, True))
"""How a process of the trial loads code, and whether a product starts cuBLAS before the first step.

Where that step starts cuBLAS itself, EAGER has all of cuBLAS's code loaded in it.
"""

CASE = ("size", "context", "batch")

READER = "workflow_src.studies.warmup.read_capture"

LOADING = "CUDA_MODULE_LOADING"
"""The environment variable by which CUDA chooses; it is read when CUDA starts."""


def about(point: Point) -> Row:
    """What the rows of a point have in common."""
    case = case_of(point, point["size"], "fp32")
    return {"config": case.case} | {name: getattr(case, name) for name in CASE}


def measure_cause(point: Point) -> list[Row]:
    """A row of sweep "traced", and rows of sweep "loading" per process and phase.

    Empty on a CPU, which loads no kernels.
    """
    if point["device"] != "cuda":
        return []
    return [about(point) | row for row in (_traced(point), *_loading(point))]


def _traced(point: Point) -> Row:
    """The program once under nsys: its steps and CUDA calls, or why there are none."""
    try:
        with tempfile.TemporaryDirectory() as folder, environment_variables({LOADING: LAZY}):
            capture = Path(folder, "first.nsys-rep")
            program = command_of(__name__, *_given(point, Path(folder, "steps.json")))
            nsys_cli.profile(capture, program, point["device"], os_tracing=False)
            export = capture.with_suffix(".sqlite")
            nsys_cli.export_sqlite(capture, export)
            return {"sweep": "traced"} | read_export(export, point["steps"])
    except TraceError as error:
        return {"sweep": "traced", "status": "skipped", "reason": str(error)}


def read_export(export: Path, steps: int) -> Row:
    """What a point keeps of an export, or why there is nothing: see read_capture.recorded."""
    asked = ["--export", str(export), "--steps", str(steps), "--phases", *PHASES]
    to = export.with_suffix(".json")
    found: Row = written_by(READER, asked, to, "the reader of the capture")
    return found


def _loading(point: Point) -> list[Row]:
    """The program without nsys, in `repeats` processes for each of TRIALS, taking turns."""
    rows = []
    for process, (mode, prepared) in enumerate(TRIALS * point["repeats"]):
        labels = {"sweep": "loading", "loading": mode, "prepared": prepared, "process": process}
        rows += [labels | row for row in _timed({**point, "prepared": prepared}, mode)]
    return rows


def _timed(point: Point, mode: str) -> list[Row]:
    """A row per phase: the times (ns) of its steps, and of building the model, in one process."""
    try:
        found = _run(point, mode)
    except StageError as error:
        return [{"status": "skipped", "reason": str(error)}]
    done = {"status": "ok", "reason": "", "build_ns": found["build_ns"]}
    return [done | {"phase": phase, "steps_ns": ns} for phase, ns in found["steps_ns"].items()]


def _run(point: Point, mode: str) -> dict[str, Any]:
    """What the program writes. Raises StageError if it fails."""
    with tempfile.TemporaryDirectory() as folder, environment_variables({LOADING: mode}):
        given = _given(point, Path(folder, "steps.json"))
        found: dict[str, Any] = written_by(__name__, *given, "the program")
        return found


def _given(point: Point, output: Path) -> tuple[list[str], Path]:
    """What this program is given to run as one of its own."""
    return ["--point", json.dumps(dict(point))], output


def run(point: Point) -> dict[str, Any]:
    """The program: build the model, then the first steps of each phase in nsys's window.

    build_ns: time until the model is built, in which CUDA starts; steps_ns: of each step, by phase.
    """
    start = time.perf_counter_ns()
    workload = Workload(case_of(point, point["size"], "fp32"))
    workload.synchronize()
    build_ns = time.perf_counter_ns() - start
    if point.get("prepared"):
        # A product loads cuBLAS and makes its handle and workspace.
        one = torch.ones(8, 8, device=workload.device)
        (one @ one).sum().item()

    def step(phase: str) -> None:
        with range_(phase):
            workload.phase(phase)()
            workload.synchronize()

    wait, steps = workload.synchronize, point["steps"]
    with nsys_window(point["device"]):
        found = {phase: time_steps(partial(step, phase), wait, steps) for phase in PHASES}
    return {"build_ns": build_ns, "steps_ns": found}


def main() -> None:
    """Run the first steps of this process, and write how long each took."""
    parser = Parser(description=__doc__)
    check = point_of(POINT, with_known_sizes)
    parser.add_argument("--point", type=check, required=True, help="the point as JSON")
    parser.add_argument("--output", type=new_file, required=True, help="times as JSON")
    given = parser.parse_args()
    use_threads(given.point)
    with limited_memory(given.point["device"], given.point.get("memory_limit_gib")):
        write_json(given.output, run(given.point))


if __name__ == "__main__":
    main()
