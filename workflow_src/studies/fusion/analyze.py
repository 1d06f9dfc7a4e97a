"""Analyzes the fusion study: launches, bytes and rates, and their shares of the rate of a copy."""

from workflow_src.common.units import NS_PER_MS
from workflow_src.studies.study import Point, Row

ELEMENT_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with elements, launches, bytes, rate, and its share of the rate of a copy.

    The ceilings that older points measured, too, are left out.
    """
    rows = [row | {"elements": row["rows"] * row["columns"]} for row in rows if "kind" not in row]
    launched = {launches_alike(row): row["kernels"] for row in rows if "activities" in row}
    copied: dict[tuple[object, ...], float] = {}
    for row in (row for row in rows if row["status"] == "ok"):
        moved = 2 * row["elements"] * ELEMENT_BYTES[row["dtype"]]
        row["kernels_launched"] = launched.get(launches_alike(row))
        row["bytes_moved"] = moved
        # Bytes per nanosecond are 10^9 bytes per second.
        rate = row["achieved_gb_per_s"] = moved / (row["median_ms"] * NS_PER_MS)
        shape = row["operation"], row["dtype"], row["rows"], row["columns"]
        if row["implementation"] == "copy":
            copied[shape] = rate
        # The copy of a shape comes first; see measure.
        row["share_of_copy"] = rate / copied[shape] if shape in copied else None
    return rows


def launches_alike(row: Row) -> tuple[str, str, int]:
    """What rows share that launch equally many kernels, of which one is profiled; see measure."""
    columns = row["columns"] if row["operation"] == "softmax" else 0
    return row["implementation"], row["dtype"], columns
