"""Sums over the activities of a study's raw row."""

from collections.abc import Iterable

from workflow_src.studies.study import Row


def busy_ns(activities: Iterable[Row]) -> int:
    """Total device time of the activities, in ns."""
    return sum(row["busy_ns"] for row in activities)


def calls(activities: Iterable[Row]) -> int:
    """Total calls of the activities."""
    return sum(row["calls"] for row in activities)
