"""What the studies' tables share: their rows, and how the time of a measurement is shown."""

from typing import Any

import pandas as pd

from workflow_src.render.markdown import Column, number, records

TIME_COLUMNS = (
    Column("median, ms", "median_ms", number, "status"),
    Column("p20, ms", "p20_ms", number, "status"),
    Column("p80, ms", "p80_ms", number, "status"),
)
"""The spread of a measurement (see outcomes.spread), or what became of it."""


def filled(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a study's table with None where a cell is empty."""
    return [
        {key: None if value == "" or value != value else value for key, value in row.items()}
        for row in records(table)
    ]
