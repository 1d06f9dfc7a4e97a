"""The tables of one case as a run has them: joined, written and read."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from workflow_src.common.case import Case
from workflow_src.tables.join import with_case
from workflow_src.tables.laws import read_tables


def joined(tables: Mapping[str, pd.DataFrame], case: Case, folder: Path) -> dict[str, pd.DataFrame]:
    """The tables that the laws are about, read from what is written into `folder`."""
    for name, table in tables.items():
        with_case(table, case.as_dict()).to_csv(folder / f"{name}.csv", index=False)
    return read_tables(folder)
