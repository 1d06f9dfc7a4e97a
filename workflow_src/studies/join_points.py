"""Join the measured points of a study into its table.

Points hold raw measurements. Everything derived is computed here: the spread of samples; the short
names, families and precisions of kernels (by families.csv); what the study's own `derive` adds.
"""

import importlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.arguments import Parser, existing_file, new_file
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.environment import MEASURED_WITH
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.read_table import described
from workflow_src.common.reading import reading
from workflow_src.common.summary import spread
from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.families import naming
from workflow_src.studies.study import STUDIES, Point, Row

Derive = Callable[[Point, list[Row]], list[Row]]
"""From a point and its raw rows, prepared, to rows of the table."""


def named(activities: list[Row]) -> list[Row]:
    """Activities with short_name, family and precision_ran ("" where the name doesn't tell)."""
    frame = pd.DataFrame(activities, columns=list(activities[0]) if activities else ["name"])
    told = frame.assign(**naming(frame["name"].astype("str")))
    rows: list[Row] = told.to_dict("records")  # type: ignore[assignment]
    return rows


def prepared(row: Row) -> Row:
    """A raw row with the spread of its samples (ms); of a profiled call its activities with their
    names, how many `kernels` they are, and their device time, `busy_ms`."""
    made = row | (spread(row["samples_ns"]) if "samples_ns" in row else {})
    if "activities" not in row:
        return made
    activities = named(row["activities"])
    kernels, busy_ns = (sum(each[name] for each in activities) for name in ("calls", "busy_ns"))
    return made | {"activities": activities, "kernels": kernels, "busy_ms": busy_ns / NS_PER_MS}


def host_speed(result: dict[str, Any]) -> Row:
    """The fastest and slowest eager operation (us) that a GPU's host did around the processes."""
    processes = result.get("processes", [result])
    around = [process.get(side, {}) for process in processes for side in ("before", "after")]
    found = [each["host_operation_us"] for each in around if "host_operation_us" in each]
    if not found or not result["environment"].get("gpu"):
        return {}
    return {"host_operation_us_least": min(found), "host_operation_us_most": max(found)}


def table_rows(result: dict[str, Any], derive: Derive) -> list[Row]:
    """The rows of one point: its id, what was derived, the environment, and `host_speed`."""
    environment = result["environment"]
    around = {key: environment.get(key, "") for key in MEASURED_WITH} | host_speed(result)
    around |= {"host_id": environment["host_id"]} if "host_id" in environment else {}
    rows = derive(result["point"], [prepared(row) for row in result["rows"]])
    return [{"point": result["point"]["point"]} | row | around for row in rows]


def join(study: str, paths: Iterable[Path]) -> pd.DataFrame:
    """The described columns of the rows of all points of a study.

    Raises StageError for a file that isn't a measured point.
    """
    analyze = importlib.import_module(f"workflow_src.studies.{study}.analyze")
    rows: list[Row] = []
    for path in paths:
        with reading(path, "a study's result", remake(path), StageError):
            rows += table_rows(json.loads(path.read_text(encoding="utf-8")), analyze.derive)
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
