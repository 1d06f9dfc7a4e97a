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
from workflow_src.placing.families import load_rules, naming
from workflow_src.studies.study import STUDIES, Point, Row

Derive = Callable[[Point, list[Row]], list[Row]]
"""From a point and its raw rows, with spread and kernel names added, to rows of the table."""


def named(activities: list[Row], rules: pd.DataFrame) -> list[Row]:
    """Activities with short_name, family and precision_ran ("" where the name doesn't tell)."""
    if not activities:
        return []
    columns = naming(pd.Series([row["name"] for row in activities], dtype="str"), rules)
    named = zip(*columns.values(), strict=True)
    return [
        row | dict(zip(columns, each, strict=True))
        for row, each in zip(activities, named, strict=True)
    ]


def prepared(row: Row, rules: pd.DataFrame) -> Row:
    """A raw row with the spread of its samples (ms), and its activities with their names.

    Every key that ends in "activities" holds a list of them.
    """
    lists = {key: named(row[key], rules) for key in row if key.endswith("activities")}
    return row | lists | (spread(row["samples_ns"]) if "samples_ns" in row else {})


def profiler_stayed(result: dict[str, Any]) -> bool:
    """Whether a profiler stayed attached to a point's process after its first session."""
    on_gpu = bool(result["environment"].get("gpu"))
    profiled = any(key.endswith("activities") for row in result["rows"] for key in row)
    return on_gpu and profiled and not result.get("profiler_detaches", False)


def host_speed(result: dict[str, Any]) -> Row:
    """The fastest and slowest eager operation (us) that a GPU's host did around the processes.

    That after measuring doesn't count where a profiler had stayed. Empty for older results.
    """
    sides = ("before",) if profiler_stayed(result) else ("before", "after")
    processes = result.get("processes", [result])
    around = [process.get(side, {}) for process in processes for side in sides]
    found = [each["host_operation_us"] for each in around if "host_operation_us" in each]
    if not found or not result["environment"].get("gpu"):
        return {}
    return {"host_operation_us_least": min(found), "host_operation_us_most": max(found)}


def table_rows(result: dict[str, Any], derive: Derive, rules: pd.DataFrame) -> list[Row]:
    """The table rows of one point: its id, what was derived (scalars only), and the environment.

    With `profiler_stayed`, which is True, only where it did, and `host_speed` on a GPU's host.
    """
    environment = result["environment"]
    around = {key: environment.get(key, "") for key in MEASURED_WITH}
    around |= {"host_id": environment["host_id"]} if "host_id" in environment else {}
    around |= {"profiler_stayed": True} if profiler_stayed(result) else {}
    around |= host_speed(result)
    point = result["point"]
    rows = derive(point, [prepared(row, rules) for row in result["rows"]])
    return [
        {"point": point["point"]}
        | {key: value for key, value in row.items() if not isinstance(value, list | dict)}
        | around
        for row in rows
    ]


def join(study: str, paths: Iterable[Path], rules: pd.DataFrame) -> pd.DataFrame:
    """The rows of all points of a study, which may complete them by what takes several points.

    Raises StageError for a file that isn't a measured point.
    """
    analyze = importlib.import_module(f"workflow_src.studies.{study}.analyze")
    rows: list[Row] = []
    for path in paths:
        with reading(path, "a study's result", remake(path), StageError):
            found = table_rows(json.loads(path.read_text(encoding="utf-8")), analyze.derive, rules)
            json.dumps(found, ensure_ascii=False).encode()
        rows += found
    table = pd.DataFrame(rows)
    return analyze.complete(table) if hasattr(analyze, "complete") else table


@one_sentence()
def main() -> None:
    """Write the table of a study."""
    parser = Parser(description=__doc__)
    parser.add_argument("--study", choices=STUDIES, required=True)
    parser.add_argument(
        "--points", type=existing_file, nargs="+", required=True, help="JSON of each point"
    )
    parser.add_argument("--families", type=existing_file, required=True, help="families.csv")
    parser.add_argument("--output", type=new_file, required=True)
    given = parser.parse_args()
    table = join(given.study, given.points, load_rules(given.families))
    write_csv(given.output, described(table, f"studies/{given.study}"))


if __name__ == "__main__":
    main()
