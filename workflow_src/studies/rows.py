"""Sums over the activities of a study's raw row, and what its memory says."""

from collections.abc import Iterable

from workflow_src.common.units import NS_PER_MS
from workflow_src.studies.study import Row


def worked(row: Row) -> Row:
    """A profiled row with its device time and, if it was timed, the share of the median."""
    if "activities" not in row:
        return row
    busy_ms = busy_ns(row["activities"]) / NS_PER_MS
    share = {"busy_share": busy_ms / row["median_ms"]} if row.get("median_ms") else {}
    return row | {"busy_ms": busy_ms} | share


def without_bytes(row: Row) -> Row:
    """A row without its counts of bytes, which its table has in MiB."""
    return {key: cell for key, cell in row.items() if not key.endswith("_bytes")}


def busy_ns(activities: Iterable[Row]) -> int:
    """Total device time of the activities, in ns."""
    return sum(row["busy_ns"] for row in activities)


def calls(activities: Iterable[Row]) -> int:
    """Total calls of the activities."""
    return sum(row["calls"] for row in activities)
