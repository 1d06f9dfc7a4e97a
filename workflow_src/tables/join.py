"""The tables of all cases, joined."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.arguments import (
    existing_file,
    existing_folder,
    new_folder,
    stage_arguments,
)
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.case import CASE_COLUMNS, PHASES
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.read_table import read_table
from workflow_src.common.reading import reading


def with_case(table: pd.DataFrame, case: Mapping[Any, Any]) -> pd.DataFrame:
    """A case's table after the columns that identify the case."""
    front = pd.DataFrame({name: [case[name]] * len(table) for name in CASE_COLUMNS})
    return pd.concat([front, table.reset_index(drop=True)], axis=1)


def join(folders: Path, cases: Sequence[Mapping[Any, Any]], name: str) -> pd.DataFrame:
    """The table called `name` of all cases that have one, in the plan's order.

    In timings, planned cases without have rows with the status "not_measured".
    """
    parts = []
    absent = {"phase": PHASES, "status": "not_measured", "reason": ""}
    for case in cases:
        path = folders / case["case"] / f"{name}.csv"
        if path.is_file():
            with reading(path, "a readable table", remake(path), StageError):
                table = pd.read_csv(path, keep_default_na=False, dtype="str")
            parts.append(with_case(table, case))
        elif name == "timings":
            parts.append(with_case(pd.DataFrame(absent), case))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=CASE_COLUMNS)


@one_sentence()
def main() -> None:
    """Join tables of the planned cases, whose folders stand in one, into one CSV each."""
    files = {"plan": existing_file, "cases": existing_folder, "output": new_folder}
    given = stage_arguments(__doc__, **files, names=[str])
    cases = read_table(given.plan, "plan").to_dict("records")
    if not any((given.cases / case["case"]).is_dir() for case in cases):
        raise StageError(f"--cases: {given.cases} holds the tables of no case of {given.plan}")
    tables = {name: join(given.cases, cases, name) for name in given.names}
    for name, table in tables.items():
        write_csv(given.output / f"{name}.csv", table)


if __name__ == "__main__":
    main()
