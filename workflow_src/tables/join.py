"""The tables of all cases, joined."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.arguments import Parser, existing_file, existing_folder, new_folder
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.case import CASE_COLUMNS, LATER, PHASES, TABLES
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading


def with_case(table: pd.DataFrame, case: dict[str, Any]) -> pd.DataFrame:
    """A case's table, preceded by the columns that identify the case."""
    of_case = LATER | case
    front = pd.DataFrame({name: [of_case[name]] * len(table) for name in CASE_COLUMNS})
    return pd.concat([front, table.reset_index(drop=True)], axis=1)


def join(folders: Path, cases: Iterable[dict[str, Any]], name: str) -> pd.DataFrame:
    """The table called `name` of all cases that have one, in the plan's order."""
    parts = []
    for case in cases:
        path = folders / case["case"] / f"{name}.csv"
        if path.is_file():
            with reading(path, "a readable table", remake(path), StageError):
                table = pd.read_csv(path, keep_default_na=False, dtype="str")
            parts.append(with_case(table, case))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=CASE_COLUMNS)


def missing_rows(folders: Path, cases: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Rows of timings with status "not_measured" for planned cases without tables."""
    rows = [
        {name: case[name] for name in CASE_COLUMNS}
        | {"phase": phase, "status": "not_measured", "reason": ""}
        for case in cases
        if not (folders / case["case"] / "timings.csv").is_file()
        for phase in PHASES
    ]
    return pd.DataFrame(rows)


def join_all(
    folders: Path, cases: list[dict[str, Any]], names: Sequence[str] = TABLES
) -> dict[str, pd.DataFrame]:
    """Tables of all cases by name."""
    tables = {name: join(folders, cases, name) for name in names}
    if "timings" not in tables:
        return tables
    absent = missing_rows(folders, cases)
    every = pd.concat([tables["timings"], absent], ignore_index=True)
    order = {case["case"]: place for place, case in enumerate(cases)}
    tables["timings"] = every.sort_values("case", key=lambda ids: ids.map(order), kind="stable")
    return tables


@one_sentence()
def main() -> None:
    """Join the tables of the planned cases into one CSV each."""
    parser = Parser(description=__doc__)
    parser.add_argument("--plan", type=existing_file, required=True, help="plan.csv")
    parser.add_argument(
        "--cases", type=existing_folder, required=True, help="folder of the cases' folders"
    )
    parser.add_argument(
        "--output", type=new_folder, required=True, help="folder for the joined CSVs"
    )
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
