"""Analyzes the fusion study: launches, bytes and rates, and their shares of the rate of a copy."""

from collections.abc import Mapping

from workflow_src.common.ceilings import rate_of
from workflow_src.common.units import NS_PER_MS
from workflow_src.studies.rows import calls
from workflow_src.studies.study import Point, Row

ELEMENT_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}

SAME_MIX = ("copy", "scale")
"""The ceilings that read as much as they write, as these operations do: writing alone is faster."""

Shape = tuple[str, str, int, int]
"""Operation, dtype, rows and columns."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with elements, launches, bytes, rate, and its share of the rate of a copy.

    Rows of a ceiling become a column, the best rate of their mix: `ceiling_gb_per_s`.
    """
    bandwidths = [row for row in rows if row.get("kind") == "bandwidth" and row["status"] == "ok"]
    ceilings = [row for row in bandwidths if row["name"] in SAME_MIX]
    best = [rate_of(row, min(row["samples_ns"])) for row in ceilings]
    known = {"ceiling_gb_per_s": max(best)} if best else {}
    rows = [row | known for row in rows if "kind" not in row]
    profiled = [row for row in rows if "activities" in row]
    launched = {launches_alike(row): calls(row["activities"]) for row in profiled}
    rated = [row | {"elements": row["rows"] * row["columns"]} for row in rows]
    rated = [row | _rate(row, launched) if row["status"] == "ok" else row for row in rated]
    copied = {
        shape_of(row): row["achieved_gb_per_s"]
        for row in rated
        if row["status"] == "ok" and row["implementation"] == "copy"
    }
    return [
        row | {"share_of_copy": _share(row, copied)} if row["status"] == "ok" else row
        for row in rated
    ]


def _rate(row: Row, launched: Mapping[tuple[str, str, int], int]) -> Row:
    """Launches of one call, the bytes that it must move, and their rate."""
    moved = 2 * row["elements"] * ELEMENT_BYTES[row["dtype"]]
    return {
        "kernels_launched": launched.get(launches_alike(row)),
        "bytes_moved": moved,
        # Bytes per nanosecond are 10^9 bytes per second.
        "achieved_gb_per_s": moved / (row["median_ms"] * NS_PER_MS),
    }


def _share(row: Row, copied: Mapping[Shape, float]) -> float | None:
    """The row's rate over that of the copy of the same shape; None without such a copy."""
    copy = copied.get(shape_of(row))
    return None if copy is None else float(row["achieved_gb_per_s"] / copy)


def launches_alike(row: Row) -> tuple[str, str, int]:
    """What rows share that launch equally many kernels, of which one is profiled; see measure."""
    columns = row["columns"] if row["operation"] == "softmax" else 0
    return row["implementation"], row["dtype"], columns


def shape_of(row: Row) -> Shape:
    """What rows must have in common to be compared with each other."""
    return row["operation"], row["dtype"], int(row["rows"]), int(row["columns"])
