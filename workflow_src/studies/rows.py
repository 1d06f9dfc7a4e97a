"""Sums over the activities of a study's raw row, and what its memory says."""

from collections.abc import Iterable

from workflow_src.common.units import NS_PER_MS
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


def worked(row: Row) -> Row:
    """A profiled row with its device time and, if it was timed, the share of the median."""
    if "activities" not in row:
        return row
    busy_ms = busy_ns(row["activities"]) / NS_PER_MS
    share = {"busy_share": busy_ms / row["median_ms"]} if row.get("median_ms") else {}
    return row | {"busy_ms": busy_ms} | share


def by_kernel(row: Row) -> list[Row]:
    """A profiled row for each operator and kernel: calls, device time and share."""
    named = {"operator": "operator", "kernel": "short_name", "family": "family"}
    found = summed(row["activities"], **named)
    total = sum(each["busy_ns"] for each in found)
    return [
        row
        | {name: each[name] or "(none)" for name in named}
        | {"calls": each["calls"], "device_ms": each["busy_ns"] / NS_PER_MS}
        | {"share": each["busy_ns"] / total if total else None}
        for each in found
    ]


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
