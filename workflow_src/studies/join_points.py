"""Join the points of a study into its one table, with the environment of each row."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.atomic_write import write_csv
from workflow_src.common.errors import StageError, one_sentence, reading
from workflow_src.tables.join import require_one_environment

ENVIRONMENT = ("gpu", "cpu", "cpu_threads", "driver", "cuda", "torch")


def rows_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The measurements of one point, each with the point's id and the environment."""
    around = {key: result["environment"].get(key, "") for key in ENVIRONMENT}
    return [{"point": result["point"]["point"]} | row | around for row in result["rows"]]


def read_point(path: Path) -> dict[str, Any]:
    """A measured point. Raises StageError where the file isn't one."""
    with reading(path, "a study's result", "delete it and run again", StageError):
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(rows_of(result), ensure_ascii=False).encode()
    return result


def join(results: Iterable[dict[str, Any]], mixed_environments: bool) -> pd.DataFrame:
    """A row per measurement: point id, its values, the environment.

    Raises MixedEnvironmentsError where points of different machines would stand together.
    """
    table = pd.DataFrame([row for result in results for row in rows_of(result)])
    if not mixed_environments and len(table):
        require_one_environment(table[list(ENVIRONMENT)])
    return table


@one_sentence()
def main() -> None:
    """Write the table of a study."""
    parser = argparse.ArgumentParser(prog="workflow_src.studies.join_points", description=__doc__)
    parser.add_argument("--points", type=Path, nargs="+", required=True, help="JSON of each point")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--mixed-environments", action="store_true")
    given = parser.parse_args()
    results = [read_point(path) for path in given.points]
    write_csv(given.output, join(results, given.mixed_environments))


if __name__ == "__main__":
    main()
