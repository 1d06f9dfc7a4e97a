"""Reading a study's table."""

from pathlib import Path

import pandas as pd

from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading


def read_study(path: Path) -> pd.DataFrame:
    """A study's table as it is, indexed by line number; empty if it never ran.

    Empty cells are NaN. Raises StageError if it is damaged.
    """
    if not path.is_file():
        return pd.DataFrame()
    with reading(path, "a study's table", remake(path), StageError):
        # Some ids look like numbers, such as 1e5.
        table = pd.read_csv(
            path,
            dtype={"host_id": "str"},
            keep_default_na=False,
            na_values=[""],
            low_memory=False,
        )
        if "status" not in table:
            raise ValueError("no column status")
    return table.set_index(pd.RangeIndex(2, len(table) + 2))
