"""Measures a study's tasks one after another: memory that runs out, timing, profiling, freeing.

A study's `measure` only says what to do: `tasks(point)` yields a Task for each row.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from workflow_src.common.errors import UnavailableError
from workflow_src.measure.activities import activities_of
from workflow_src.measure.rows import attempt, free, said, skipped
from workflow_src.measure.timing import Call, time_call, time_within
from workflow_src.studies import run_point
from workflow_src.studies.study import Point, Row

Made = Call | tuple[Call, Row] | Row
"""A call to time, maybe with more columns of its row; or a row that is measured already."""


@dataclass(frozen=True)
class Task:
    """A row to measure: what it is about, and what makes the call that is timed.

    All of `make` is inside of what may run out of memory, or say that it can't run here
    (UnavailableError); both are results. profiled: whether the activities of one call are recorded,
    too. ladder: a name of tasks in increasing order of memory; after one that ran out, the others
    of that name are skipped.
    """

    about: Mapping[str, object]
    make: Callable[[], Made]
    profiled: bool = False
    ladder: str = ""

    @property
    def name(self) -> str:
        """As it is said in logs and reasons."""
        return " ".join(str(each) for each in self.about.values())


def rows(tasks: Callable[[Point], Iterable[Task]], point: Point) -> list[Row]:
    """The row of each task of a point, in turn; raw numbers, nothing derived.

    The point says how often: `budget_ms` and maybe `sample_ms`, or `warmup_steps` and `steps`.
    """
    return list(_rows(tasks(point), point))


def _rows(tasks: Iterable[Task], point: Point) -> Iterator[Row]:
    ran_out: dict[str, str] = {}
    for task in tasks:
        before = ran_out.get(task.ladder, "")
        row = skipped(before) if before else _row(task, point)
        if task.ladder and row["status"] == "oom":
            ran_out[task.ladder] = task.name
        free(point["device"])
        yield {**task.about, "device": point["device"], **said(task.name, row)}


def _row(task: Task, point: Point) -> Row:
    try:
        return attempt(partial(_measured, task, point), partial(free, point["device"]))
    except UnavailableError as error:
        return {"status": "skipped", "reason": str(error)}


def _measured(task: Task, point: Point) -> Row:
    made, device = task.make(), point["device"]
    if isinstance(made, dict):
        return made
    call, more = made if isinstance(made, tuple) else (made, {})
    if "budget_ms" in point:
        times = time_within(call, device, point["budget_ms"], point.get("sample_ms", 0.0))
    else:
        times = {"samples_ns": time_call(call, device, point["warmup_steps"], point["steps"])}
    activities = {"activities": activities_of(call, device)} if task.profiled else {}
    return {**more, **times, **activities}


def main(
    tasks: Callable[[Point], Iterable[Task]],
    module: str = "",
    in_processes: run_point.InProcesses | None = None,
) -> None:
    """Measure one point as a command; see run_point. module: the study's own, for a point that is
    measured in several fresh processes, or in_processes, which runs these."""
    run_point.main(partial(rows, tasks), module=module, in_processes=in_processes)
