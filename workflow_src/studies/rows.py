"""What the studies share: table rows, and sums over activities."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from workflow_src.render.markdown import records
from workflow_src.studies.study import Row


def filled(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a study's table, with None for empty cells."""
    return [
        {key: None if value == "" or value != value else value for key, value in row.items()}
        for row in records(table)
    ]


def busy_ns(activities: Iterable[Row]) -> int:
    """Total device time of the activities, in ns."""
    return sum(row["busy_ns"] for row in activities)


def calls(activities: Iterable[Row]) -> int:
    """Total calls of the activities."""
    return sum(row["calls"] for row in activities)
