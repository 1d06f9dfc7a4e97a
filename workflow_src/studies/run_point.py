"""Measure one point of a study, with exclusive use of its device."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from workflow_src.common.atomic_write import write_json
from workflow_src.common.errors import one_sentence
from workflow_src.measure.alone import measured_alone
from workflow_src.measure.machine import use_threads
from workflow_src.studies.study import Point, Row


@one_sentence()
def main(measure: Callable[[Point], list[Row]]) -> None:
    """Measure one point, and write its raw rows with the environment they were measured in."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--point", type=json.loads, required=True, help="the point as JSON")
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    point = given.point
    use_threads(point)
    result = measured_alone(point["device"], "rows", lambda: measure(point))
    write_json(given.output, {"point": point} | result)
