"""Times a forward pass in pairs of fresh processes, one with the profiler and one without."""

import json
import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workflow_src.common import nsys_cli
from workflow_src.common.case import PHASES
from workflow_src.measure.phases import run_phases
from workflow_src.measure.timing import time_steps
from workflow_src.measure.windows import exported_torch_window, nsys_window
from workflow_src.measure.workload import Workload
from workflow_src.model.ranges import range_
from workflow_src.studies.models import case_of, with_known_sizes
from workflow_src.studies.profiler.points import POINT
from workflow_src.studies.programs import command_of, written_by
from workflow_src.studies.run_point import main
from workflow_src.studies.study import Point, Row

FORWARD = PHASES[0]


def measure(point: Point) -> list[Row]:
    """The row of this process: every step of the forward pass, with the profiler or without."""
    case = case_of(point, point["size"], point["precision"])

    def run(workload: Workload, phase: str) -> Row:
        step, wait = workload.phase(phase), workload.synchronize

        def ranged() -> None:
            with range_(phase):
                step()

        time_steps(step, wait, point["warmup_steps"])
        with TemporaryDirectory() as folder, window(point, Path(folder, "trace"), step):
            return {"samples_ns": time_steps(ranged, wait, point["steps"])}

    name = "profiled" if point.get("profiled") else "plain"
    return [
        {"phase": phase, "name": name} | row for phase, row in run_phases(case, run, (FORWARD,))
    ]


def window(point: Point, output: Path, settle: Any) -> AbstractContextManager[None]:
    """What the steps of a process run in: as in a capture, or nothing."""
    if not point.get("profiled"):
        return nullcontext()
    if point["profiler"] == "nsys":
        return nsys_window(point["device"])
    return exported_torch_window(point["device"], output, settle)


def in_pairs(point: Point) -> list[dict[str, Any]]:
    """The results of a point's processes, in pairs; every other one begins with the profiled one.

    All run on the device that the first one took.
    """
    results: list[dict[str, Any]] = []
    with TemporaryDirectory() as folder:
        for number in range(point["processes"]):
            pair, second = divmod(number, 2)
            profiled = bool(second) != bool(pair % 2)
            of = dict(point) | {"processes": 1, "process": pair, "profiled": profiled}
            results.append(in_process(of, Path(folder, f"{number}.json")))
            if point["device"] == "cuda":
                os.environ["CUDA_VISIBLE_DEVICES"] = results[0]["environment"]["device_name"]
    return results


def in_process(point: Point, output: Path) -> dict[str, Any]:
    """The result of one process. Raises StageError if it fails; its message has been printed."""
    program = "workflow_src.studies.profiler.measure", ["--point", json.dumps(point)], output
    if not point["profiled"] or point["profiler"] != "nsys":
        found: dict[str, Any] = written_by(*program, "a process of a pair")
        return found
    capture = output.with_suffix(".nsys-rep")
    nsys_cli.profile(capture, command_of(*program), point["device"], False)
    found = json.loads(output.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    main(measure, POINT, with_known_sizes, in_processes=in_pairs)
