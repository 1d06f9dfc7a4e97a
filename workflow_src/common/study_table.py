"""Reading a study's table."""

from pathlib import Path

import pandas as pd

from workflow_src.common.read_table import read_table


def read_study(path: Path) -> pd.DataFrame:
    """The table of the study that the file is named after, as it is; empty if it never ran.

    Raises StageError if it is damaged.
    """
    if not path.is_file():
        return pd.DataFrame()
    return read_table(path, f"studies/{path.stem}", "a study's table")
