"""Analyzes the MLP study: the device's busy share of a step, and operators' shares."""

from workflow_src.common.units import NS_PER_MS
from workflow_src.studies import join_points
from workflow_src.studies.rows import busy_ns
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """Scaling rows unchanged, sweep rows with busy time, a row per operator and kernel."""
    return [made for row in rows for made in _derived(row)]


def _derived(row: Row) -> list[Row]:
    if row["status"] != "ok" or row["part"] == "scaling":
        return [row]
    if row["part"] == "sweep":
        busy_ms = busy_ns(row["activities"]) / NS_PER_MS
        return [row | {"busy_ms": busy_ms, "busy_share": busy_ms / row["median_ms"]}]
    return [row | found for found in _by_operator(row["activities"])]


def _by_operator(activities: list[Row]) -> list[Row]:
    """Calls, device time and share of each operator and kernel."""
    total = busy_ns(activities)
    keys = {"operator": "operator", "kernel": "short_name", "family": "family"}
    found: dict[tuple[str, ...], Row] = {}
    for activity in activities:
        named = {key: activity[source] or "(none)" for key, source in keys.items()}
        row = found.setdefault(tuple(named.values()), named | {"calls": 0, "device_ms": 0.0})
        row["calls"] += activity["calls"]
        row["device_ms"] += activity["busy_ns"] / NS_PER_MS
    return [row | {"share": row["device_ms"] * NS_PER_MS / total} for row in found.values()]


if __name__ == "__main__":
    join_points.main(derive)
