"""Join the measured points of a study into its table.

Points hold raw measurements. Everything derived is computed here: the spread of samples, and what
the study's own `derive` adds.
"""

import importlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.arguments import Parser, existing_file, new_file
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.environment import MEASURED_WITH
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.read_table import described
from workflow_src.common.reading import reading
from workflow_src.common.summary import summarize
from workflow_src.common.units import NS_PER_MS
from workflow_src.studies.study import STUDIES, Row


def prepared(row: Row) -> Row:
    """A raw row with the spread of its samples (ms); of a profiled call also how many `kernels` it
    ran, and their device time, `busy_ms`."""
    made = row | (summarize(row["samples_ns"]) if "samples_ns" in row else {})
    if "activities" not in row:
        return made
    kernels = sum(each["calls"] for each in row["activities"])
    busy_ns = sum(each["busy_ns"] for each in row["activities"])
    return made | {"kernels": kernels, "busy_ms": busy_ns / NS_PER_MS}


def host_speed(result: dict[str, Any]) -> Row:
    """The fastest and slowest eager operation (us) that a GPU's host did around the processes."""
    processes = result.get("processes", [result])
    around = [process.get(side, {}) for process in processes for side in ("before", "after")]
    found = [each["host_operation_us"] for each in around if "host_operation_us" in each]
    if not found or not result["environment"].get("gpu"):
        return {}
    return {"host_operation_us_least": min(found), "host_operation_us_most": max(found)}


def join(study: str, paths: Iterable[Path]) -> pd.DataFrame:
    """The described columns of all points: of each row what `derive` makes of it, its point, the
    environment, and `host_speed`. Raises StageError for a file that isn't a measured point."""
    chapter = importlib.import_module(f"workflow_src.studies.{study}.chapter")
    derive = getattr(chapter, "derive", lambda point, rows: rows)
    rows: list[Row] = []
    for path in paths:
        with reading(path, "a study's result", remake(path), StageError):
            result = json.loads(path.read_text(encoding="utf-8"))
            environment, point = result["environment"], result["point"]
            around = {key: environment.get(key, "") for key in MEASURED_WITH} | host_speed(result)
            around |= {key: environment[key] for key in ("host_id",) if key in environment}
            derived = derive(point, [prepared(row) for row in result["rows"]])
            rows += [{"point": point["point"]} | row | around for row in derived]
    return described(pd.DataFrame(rows), f"studies/{study}")


@one_sentence()
def main() -> None:
    """Write the table of a study."""
    parser = Parser(description=__doc__)
    parser.add_argument("--study", choices=STUDIES, required=True)
    parser.add_argument(
        "--points", type=existing_file, nargs="+", required=True, help="JSON of each point"
    )
    parser.add_argument("--output", type=new_file, required=True)
    given = parser.parse_args()
    write_csv(given.output, join(given.study, given.points))


if __name__ == "__main__":
    main()
