"""Join the points of a study into its one table, with the environment of each row."""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.all_tables import MixedEnvironmentsError, require_one_environment
from workflow_src.files import write_csv

ENVIRONMENT = ("gpu", "cpu", "cpu_threads", "driver", "cuda", "torch")


def join(results: Iterable[dict[str, Any]], mixed_environments: bool) -> pd.DataFrame:
    """A row per measurement: point id, its values, the environment.

    Raises MixedEnvironmentsError where points of different machines would stand together.
    """
    rows = []
    for result in results:
        around = {key: result["environment"].get(key, "") for key in ENVIRONMENT}
        rows += [{"point": result["point"]["point"]} | row | around for row in result["rows"]]
    table = pd.DataFrame(rows)
    if not mixed_environments and len(table):
        require_one_environment(table[list(ENVIRONMENT)])
    return table


def main() -> None:
    """Write the table of a study."""
    parser = argparse.ArgumentParser(prog="workflow_src.studies.tabulate", description=__doc__)
    parser.add_argument("--points", type=Path, nargs="+", required=True, help="JSON of each point")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--mixed-environments", action="store_true")
    given = parser.parse_args()
    try:
        results = [json.loads(path.read_text(encoding="utf-8")) for path in given.points]
        table = join(results, given.mixed_environments)
    except MixedEnvironmentsError as error:
        sys.exit(str(error))
    except (ValueError, KeyError) as error:
        sys.exit(f"a point is not a study's result ({error!r}); delete it and measure it again")
    write_csv(given.output, table)


if __name__ == "__main__":
    main()
