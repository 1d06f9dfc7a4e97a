"""The tables of all cases, joined."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.arguments import Parser, existing_file, existing_folder, new_folder
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.case import CASE_COLUMNS, LATER, PHASES, TABLES
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading

Cases = Sequence[dict[str, Any]]


def with_case(table: pd.DataFrame, case: dict[str, Any]) -> pd.DataFrame:
    """A case's table, preceded by the columns that identify the case."""
    of_case = LATER | case
    front = pd.DataFrame({name: [of_case[name]] * len(table) for name in CASE_COLUMNS})
    return pd.concat([front, table.reset_index(drop=True)], axis=1)


def join(folders: Path, cases: Cases, name: str) -> pd.DataFrame:
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


def join_all(folders: Path, cases: Cases, names: Sequence[str] = TABLES) -> dict[str, pd.DataFrame]:
    """Tables of all cases by name."""
    return {name: join(folders, cases, name) for name in names}


@one_sentence()
def main() -> None:
    """Join the tables of the planned cases into one CSV each."""
    parser = Parser(description=__doc__)
    parser.add_argument("--plan", type=existing_file, required=True, help="plan.csv")
    folders = "folder of the cases' folders"
    parser.add_argument("--cases", type=existing_folder, required=True, help=folders)
    joined = "folder for the joined CSVs"
    parser.add_argument("--output", type=new_folder, required=True, help=joined)
    parser.add_argument("--names", nargs="+", default=TABLES, help="the tables to join")
    arguments = parser.parse_args()
    with reading(arguments.plan, "a plan", remake(arguments.plan), StageError):
        table = pd.read_csv(arguments.plan, keep_default_na=False, dtype="str")
        plan = [LATER | row for row in table.to_dict("records")]
        cases = [{str(key): row[key] for key in (*row, *CASE_COLUMNS)} for row in plan]
        if not cases:
            raise ValueError("it has no case")
    if not any((arguments.cases / case["case"]).is_dir() for case in cases):
        raise StageError(
            f"--cases: {arguments.cases} holds the tables of no case of {arguments.plan}"
        )
    tables = join_all(arguments.cases, cases, arguments.names)
    for name, table in tables.items():
        write_csv(arguments.output / f"{name}.csv", table)
    print(json.dumps({name: len(table) for name, table in tables.items()}))


if __name__ == "__main__":
    main()
