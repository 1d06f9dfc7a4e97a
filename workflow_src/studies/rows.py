"""Sums over the activities of a study's raw row."""

from collections.abc import Iterable

from workflow_src.studies.study import Row


def summed(activities: Iterable[Row], **columns: str) -> list[Row]:
    """A row per combination of columns of the activities, by new names: their calls, busy_ns."""
    found: dict[tuple[str, ...], Row] = {}
    for activity in activities:
        told = {name: activity[column] for name, column in columns.items()}
        row = found.setdefault(tuple(told.values()), told | {"calls": 0, "busy_ns": 0})
        row["calls"] += activity["calls"]
        row["busy_ns"] += activity["busy_ns"]
    return list(found.values())


def busy_ns(activities: Iterable[Row]) -> int:
    """Total device time of the activities, in ns."""
    return sum(row["busy_ns"] for row in activities)


def calls(activities: Iterable[Row]) -> int:
    """Total calls of the activities."""
    return sum(row["calls"] for row in activities)
