"""What must hold in the tables of every run, whatever was measured: the laws of conservation.

Device time is counted once and is the same in every table: kernels = captures = ledger = ranges =
operators, and that of products is that of the kernels that multiply. FLOPs are those of the sizes,
and bytes those of the shapes. Parts are at most their whole.
"""

from pathlib import Path

import pandas as pd

from workflow_src.common.read_table import read_table, with_texts
from workflow_src.tables import law
from workflow_src.tables.law import Tables
from workflow_src.tables.operator_laws import OPERATOR_LAWS
from workflow_src.tables.product_laws import PRODUCT_LAWS
from workflow_src.tables.time_laws import TIME_LAWS

LAWS = (*TIME_LAWS, *OPERATOR_LAWS, *PRODUCT_LAWS)

READ = (
    *("captures", "kernels", "ranges", "ledger", "launches", "launch_delays"),
    *("operators", "products", "alignment"),
)
"""The tables that the laws are about."""


def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """The joined tables that the laws are about, by name. Raises StageError if one can't be read.

    A run without a record of operators has those tables too, without rows.
    """
    return {name: _read(folder / f"{name}.csv") for name in READ}


def _read(path: Path) -> pd.DataFrame:
    return with_texts(read_table(path, path.stem), path.stem)


def check(tables: Tables) -> pd.DataFrame:
    """A row per violation of a law, with the columns of `tables/law.py`.

    Raises KeyError if `tables` lack a table or a column.
    """
    return law.check(tables, LAWS)
