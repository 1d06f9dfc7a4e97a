"""Tabulates the MLP study: a row per width."""

from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows as they were measured."""
    return rows
