"""Measures a study's tasks one after another: memory that runs out, timing, profiling, freeing.

A study's `measure` only says what to do: `tasks(point)` yields a Task for each row. What it has to
measure itself, such as several phases of one workload in turn, it yields as rows.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from workflow_src.common.arguments import new_file, stage_arguments
from workflow_src.common.atomic_write import write_json
from workflow_src.common.errors import one_sentence
from workflow_src.measure.activities import activities_of
from workflow_src.measure.processes import ended_without_threads, measured_alone, result_of
from workflow_src.measure.rows import attempt, free, said, skipped
from workflow_src.measure.timing import Call, time_call
from workflow_src.studies.study import Point, Row

Made = Call | Row
"""A call to time, or a row that is measured already."""

IDENTITY = ("measurement", "phase")
"""Keys of a row that tell which measurement it is, in points measured in several processes."""


@dataclass
class Task:
    """A row to measure: what it is about, and what makes the call that is timed.

    All of `make` is inside of what may run out of memory, or say that it can't run here
    (UnavailableError); both are results. A row that it returns may stand for `several`. profiled:
    whether the activities of one call are recorded, too. ladder: a name of tasks in increasing
    order of memory; after one that ran out, the others of that name are skipped. row: what was
    found.
    """

    about: Mapping[str, object]
    make: Callable[[], Made]
    profiled: bool = False
    ladder: str = ""
    row: Row = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As it is said in logs and reasons."""
        return " ".join(str(each) for each in self.about.values())


Tasks = Callable[..., Iterable[Task | Row]]
"""A study's `tasks`: from a point and, if it writes files beside it, the path of its result."""


def rows(tasks: Tasks, point: Point, *beside: Path) -> list[Row]:
    """The row of each task of a point, in turn; raw numbers, nothing derived. The point says how
    often: `warmup_steps` and `steps`, one number or several by `measurement`."""
    found: list[Row] = []
    ran_out: dict[str, str] = {}
    for task in tasks(point, *beside):
        if isinstance(task, dict):
            found.append(task)
            continue
        before = ran_out.get(task.ladder, "")
        run = partial(_measured, task, point)
        task.row = skipped(before) if before else attempt(run, partial(free, point["device"]))
        if task.ladder and task.row["status"] == "oom":
            ran_out[task.ladder] = task.name
        free(point["device"])
        row = {**task.about, "device": point["device"], **said(task.name, task.row)}
        found += [row | each for each in row.pop("several", [{}])]
    return found


def _measured(task: Task, point: Point) -> Row:
    made, device = task.make(), point["device"]
    if isinstance(made, dict):
        return made
    steps = point["steps"]
    steps = steps[task.about["measurement"]] if isinstance(steps, dict) else steps
    times = {"samples_ns": time_call(made, device, point["warmup_steps"], steps)}
    return times | ({"activities": activities_of(made, device)} if task.profiled else {})


@one_sentence()
def main(tasks: Tasks, module: str = "", beside: bool = False) -> None:
    """Measure one point, and write its raw rows with the environment they were measured in. One
    whose `processes` is above 1 is measured in that many, one after another, by `module`."""
    given = stage_arguments(__doc__, point=json.loads, output=new_file)
    point = given.point
    run = partial(rows, tasks, point, *([given.output] if beside else []))
    measure = partial(measured_alone, point["point"], point, "rows", run)
    with ended_without_threads(point["point"]):
        result = result_of(module, point, measure, IDENTITY)
        write_json(given.output, result | {"point": point})
