"""Sums over the activities of a study's raw row, and what its memory says."""

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


def without_bytes(row: Row) -> Row:
    """A row without its counts of bytes, which its table has in MiB."""
    return {key: cell for key, cell in row.items() if not key.endswith("_bytes")}


def fits(predicted_mib: float, available_mib: float | None) -> Row:
    """fits_predicted: "yes" or "no" by the prediction, where room is known."""
    if not available_mib:
        return {}
    return {"fits_predicted": "yes" if predicted_mib <= available_mib else "no"}


def busy_ns(activities: Iterable[Row]) -> int:
    """Total device time of the activities, in ns."""
    return sum(row["busy_ns"] for row in activities)


def calls(activities: Iterable[Row]) -> int:
    """Total calls of the activities."""
    return sum(row["calls"] for row in activities)
