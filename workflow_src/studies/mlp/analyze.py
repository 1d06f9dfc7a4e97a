"""Tabulates the MLP study: a row per size, with its busy time."""

from workflow_src.studies.rows import worked
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows, of which the sweep's are profiled and have busy time."""
    return [worked(row) for row in rows]
