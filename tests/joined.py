"""The tables of one case as a run has them, joined, written and read; and laws that they break."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from workflow_src.common.case import Case
from workflow_src.tables.join import with_case
from workflow_src.tables.laws import LAWS, Law, Tables, derived, read_tables


def joined(tables: Mapping[str, pd.DataFrame], case: Case, folder: Path) -> dict[str, pd.DataFrame]:
    """The tables that the laws are about, read from what is written into `folder`."""
    for name, table in tables.items():
        with_case(table, case.as_dict()).to_csv(folder / f"{name}.csv", index=False)
    return read_tables(folder)


def check(tables: Tables, laws: Sequence[Law] = LAWS) -> pd.DataFrame:
    """A row per violation of laws."""
    rows = derived(tables)
    return pd.concat([law.broken(law.compared(rows)) for law in laws], ignore_index=True)
