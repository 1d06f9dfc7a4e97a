"""Measure one point of a study, with exclusive use of its device."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from workflow_src.common.arguments import Parser, new_file
from workflow_src.common.atomic_write import write_json
from workflow_src.common.errors import one_sentence
from workflow_src.measure.alone import ended_without_threads, measured_alone
from workflow_src.measure.machine import use_threads
from workflow_src.measure.processes import in_fresh_processes, merged_point
from workflow_src.studies.study import Point, Row

InProcesses = Callable[[Point], list[dict[str, Any]]]
"""The results of all processes that a point is measured in."""

IDENTITY = ("measurement", "phase", "name")
"""The keys of a row that tell which measurement it is, in points measured in several processes."""


@one_sentence()
def main(
    measure: Callable[..., list[Row]],
    module: str = "",
    in_processes: InProcesses | None = None,
    beside: bool = False,
) -> None:
    """Measure one point, and write its raw rows with the environment they were measured in.

    `measure` takes the point and, if it writes files beside it, the path of its result, too.

    A point whose `processes` is above 1 runs `module`, the study's own, in that many processes, one
    after another; each has its number in the point, under "process". `in_processes` runs them
    instead, if it is given.
    """
    parser = Parser(description=__doc__)
    parser.add_argument("--point", type=json.loads, required=True, help="the point as JSON")
    parser.add_argument("--output", type=new_file, required=True)
    given = parser.parse_args()
    point = given.point
    if point.get("processes", 1) > 1 and (module or in_processes):
        results = (in_processes or partial(_one_after_another, module))(point)
        write_json(given.output, merged_point(results, IDENTITY) | {"point": point})
        return
    use_threads(point)
    run = partial(measure, point, *([given.output] if beside else []))
    with ended_without_threads(point["point"]):
        result = measured_alone(point["point"], point, "rows", run)
        write_json(given.output, {"point": point} | result)


def _one_after_another(module: str, point: Point) -> list[dict[str, Any]]:
    return in_fresh_processes(module, point, point["processes"], "--point")
