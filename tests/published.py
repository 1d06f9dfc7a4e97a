"""Where the runs are that the project publishes."""

from pathlib import Path

import pandas as pd

from workflow_src.common.read_table import read_table

EXAMPLES = Path(__file__).parent.parent / "examples"
H200, H100 = EXAMPLES / "h200", EXAMPLES / "h100"


def run_of(study: str) -> Path:
    """The published run that measured a study."""
    return H100 if study == "profiler" else H200


def read_study(path: Path) -> pd.DataFrame:
    """The table of the study that the file is named after; empty if it never ran."""
    if not path.is_file():
        return pd.DataFrame()
    return read_table(path, f"studies/{path.stem}", "a study's table")
