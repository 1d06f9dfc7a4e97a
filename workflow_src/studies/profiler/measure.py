"""Times a forward pass in pairs of fresh processes, one with the profiler and one without."""

import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workflow_src.common.case import PHASES
from workflow_src.measure.capture import profile
from workflow_src.measure.processes import command_of, written_by
from workflow_src.measure.timing import time_steps
from workflow_src.measure.windows import exported_torch_window, nsys_window
from workflow_src.measure.workload import Workload
from workflow_src.model.ranges import range_
from workflow_src.studies.models import case_of
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import Task, main

FORWARD = PHASES[0]


def tasks(point: Point) -> Iterator[Task]:
    """The task of this process: the forward pass, with the profiler or without."""
    name = "profiled" if point.get("profiled") else "plain"
    yield Task({"phase": FORWARD, "name": name}, partial(forward, point))


def forward(point: Point) -> Row:
    """The time of every step of the point's forward pass."""
    (size,) = point["sizes"]
    workload = Workload(case_of(point, size, point["precision"]))
    step, wait = workload.phase(FORWARD), workload.synchronize

    def ranged() -> None:
        with range_(FORWARD):
            step()

    time_steps(step, wait, point["warmup_steps"])
    with TemporaryDirectory() as folder, window(point, Path(folder, "trace"), step):
        return {"samples_ns": time_steps(ranged, wait, point["steps"])}


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


def in_process(point: Point, output: Path) -> Any:
    """The result of one process. Raises StageError if it fails; its message has been printed."""
    program = "workflow_src.studies.profiler.measure", ["--point", json.dumps(point)], output
    if not point["profiled"] or point["profiler"] != "nsys":
        return written_by(*program, "a process of a pair")
    profile(output.with_suffix(".nsys-rep"), command_of(*program), point["device"], False)
    return json.loads(output.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(tasks, in_pairs)
