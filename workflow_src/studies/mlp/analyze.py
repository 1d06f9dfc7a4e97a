"""Tabulates the MLP study: single operations have a row per operator and kernel."""

from workflow_src.studies.rows import by_kernel, worked
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """Scaling rows unchanged, sweep rows with busy time, a row per operator and kernel."""
    return [made for row in rows for made in _derived(row)]


def _derived(row: Row) -> list[Row]:
    return by_kernel(row) if row["part"] == "operators" and "activities" in row else [worked(row)]
