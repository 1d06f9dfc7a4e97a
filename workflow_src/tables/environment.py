"""What measurements were made on and with: one environment, unless mixing is allowed.

A stage before the join, so that this never fails because of the environment.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from workflow_src.common.arguments import existing_file, new_file, stage_arguments
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.environment import SAME_EVERYWHERE
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading


def distinct(paths: Iterable[Path]) -> pd.DataFrame:
    """A row per environment, most frequent first: SAME_EVERYWHERE and the number of measurements.

    paths: cases' environments.csv or study points' JSON; a column that a file lacks is empty.
    Raises StageError if one can't be read.
    """
    rows = []
    for path in paths:
        with reading(path, "a measured environment", remake(path), StageError):
            if path.suffix == ".json":
                found = json.loads(path.read_text(encoding="utf-8"))["environment"]
            else:
                found = pd.read_csv(path, keep_default_na=False, dtype="str").to_dict("records")[0]
            rows.append([str(found.get(name, "")) for name in SAME_EVERYWHERE])
    table = pd.DataFrame(rows, columns=[*SAME_EVERYWHERE])
    return table.value_counts().reset_index(name="measurements")


def require_one(environments: pd.DataFrame) -> None:
    """Raise StageError naming the first column that differs."""
    for column in SAME_EVERYWHERE:
        counts = environments.groupby(column, sort=False)["measurements"].sum()
        if len(counts) > 1:
            seen = ", ".join(f"{value or 'none'} ({n} measured)" for value, n in counts.items())
            raise StageError(
                f"{column} differs between the measurements: {seen}; measure them again in one "
                "place, or set mixed_environments: true"
            )


@one_sentence()
def main() -> None:
    """Write the environments of measurements; more than one is an error unless allowed."""
    paths = {"measured": [existing_file], "output": new_file}
    given = stage_arguments(__doc__, mixed_environments=False, **paths)
    environments = distinct(given.measured)
    if not given.mixed_environments:
        require_one(environments)
    write_csv(given.output, environments)


if __name__ == "__main__":
    main()
