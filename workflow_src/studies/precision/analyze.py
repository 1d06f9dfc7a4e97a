"""Analyzes the precision study: errors of sums in two parts, the device's work and its copies."""

import math

import numpy as np

from workflow_src.common.units import NS_PER_MS
from workflow_src.studies.rows import busy_ns, calls
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """Sums with their errors, dtypes unchanged, times with busy time and copies."""
    return [row | _derived(point, row) for row in rows]


def _derived(point: Point, row: Row) -> Row:
    if row["part"] == "accumulation":
        return errors(row, point["addend"], point["additions"])
    if row.get("activities"):
        return device_work(row["activities"], row["median_ms"])
    return {}


def errors(row: Row, addend: float, additions: int) -> Row:
    """The error of a sum against additions x addend, in its two parts.

    `representation_error` is the error of the addend as stored, times the additions;
    `rounding_error` is the rest, due to rounding the sum at each addition. `spacing` is the
    distance from the sum's last value to the next larger one in its dtype. All are exact in double
    precision, which holds every product and difference here.
    """
    value, exact, stored = row["value"], additions * addend, additions * row["addend"]
    eps = float(np.finfo(row["sum_dtype"]).eps)
    return {
        "error": value - exact,
        "representation_error": stored - exact,
        "rounding_error": value - stored,
        "spacing": eps * 2.0 ** math.floor(math.log2(value)),
    }


def copies(activities: list[Row]) -> list[Row]:
    """The activities that move or convert tensors, each counted once.

    On a CUDA device, kernels of the copy family (not memory operations, which convert nothing);
    on a CPU, the operator that does the work, without those that only call it.
    """
    return [
        row
        for row in activities
        if (row["kind"] == "kernel" and row["family"] == "copy")
        or (row["kind"] == "operator" and row["name"] == "aten::copy_")
    ]


def device_work(activities: list[Row], median_ms: float) -> Row:
    """Busy time of one call, its share of the unprofiled median, and the copies in it."""
    moved, busy_ms = copies(activities), busy_ns(activities) / NS_PER_MS
    return {
        "busy_ms": busy_ms,
        "busy_share": busy_ms / median_ms,
        "copies": calls(moved),
        "copy_share": busy_ns(moved) / busy_ns(activities),
    }
