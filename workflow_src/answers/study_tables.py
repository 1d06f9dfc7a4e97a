"""Read the tables of studies that an answer uses."""

from pathlib import Path

import pandas as pd

from workflow_src.answers.evidence import TableError
from workflow_src.common.errors import remake
from workflow_src.common.reading import reading

COLUMNS = {
    "levers": "case size context precision variant remedies phase status median_ms saving_share",
}
"""The columns of each study's table that answers read."""

OPTIONAL = {"levers": "batches error_state gradients_error"}
"""Columns that older tables lack; they are empty then."""

NUMBERS = {"context", "median_ms", "saving_share", "batches", "gradients_error"}
"""The columns of numbers."""


def read_study(folder: Path, study: str) -> pd.DataFrame:
    """A study's table from the folder of joined tables, empty if it didn't run.

    Empty cells are NaN. Its index counts as in a spreadsheet. Raises TableError if it is damaged.
    """
    path, columns = folder / "studies" / f"{study}.csv", COLUMNS[study].split()
    every = [*columns, *OPTIONAL[study].split()]
    if not path.is_file():
        return pd.DataFrame(columns=every)
    with reading(path, "a study's table", remake(path), TableError):
        table = pd.read_csv(path, keep_default_na=False, na_values=[""])
        absent = [name for name in columns if name not in table.columns]
        if absent:
            raise ValueError(f"no column {', '.join(absent)}")
        for column in NUMBERS.intersection(table.columns):
            table[column] = pd.to_numeric(table[column])
    table = table.reindex(columns=[*table.columns, *(c for c in every if c not in table.columns)])
    return table.set_index(pd.RangeIndex(2, len(table) + 2))
