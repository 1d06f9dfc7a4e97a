"""Analyzes the study ranks: bandwidths of all-reduces."""

from workflow_src.studies.models import case_of, dimensions
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """All-reduces with their bandwidths, or ways with the model's size."""
    ranks = {"ranks": point["ranks"]}
    if point["measurement"] == "all_reduce":
        return [row | ranks | bandwidths(row, point["ranks"]) for row in rows]
    about = ranks | dimensions(case_of(point, point["size"], point["precision"]))
    return [row | about for row in rows]


def bandwidths(row: Row, ranks: int) -> Row:
    """Algorithm and bus bandwidth (GB/s) of an all-reduce's median; empty without one.

    The first is its bytes over its time, the second what a link carries of them: 2 (n - 1) / n
    times that for n ranks (doc/PERFORMANCE.md of NVIDIA's nccl-tests).
    """
    if row["status"] != "ok":
        return {}
    rate = row["bytes"] / (row["median_ms"] * 1e6)
    return {"algorithm_gb_per_s": rate, "bus_gb_per_s": rate * 2 * ((ranks - 1) / ranks)}
