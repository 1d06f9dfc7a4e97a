"""Analyzes the matmul study: each product's rate, and the kernel that ran."""

from collections.abc import Sequence

from workflow_src.common.units import NS_PER_MS
from workflow_src.studies.rows import busy_ns, calls
from workflow_src.studies.study import Point, Row

DIVISORS = (32, 16, 8, 2, 1)


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with the largest of DIVISORS of n; measured ones also with rate and kernel."""
    made = []
    for row in rows:
        divisor = {"divisor": next(d for d in DIVISORS if row["n"] % d == 0)} if "n" in row else {}
        made.append(row | divisor | (_product(row) if row["status"] == "ok" else {}))
    return made


def _product(row: Row) -> Row:
    """The rate (TFLOP/s) of a product's 2 n^3 FLOPs, and the kernel that ran."""
    return {"tflops": 2 * row["n"] ** 3 / (row["median_ms"] * 1e9)} | kernel_of(row["activities"])


def kernel_of(activities: Sequence[Row]) -> Row:
    """The kernel with the most time, the precision in its name, and busy time.

    Only matrix multiplications compete, if any ran. `kernels` and `busy_ms` cover all activities.
    """
    products = [row for row in activities if row["family"] == "gemm"]
    longest = max(products or activities, key=lambda row: int(row["busy_ns"]), default={})
    return {
        "kernel": longest.get("short_name", ""),
        "ran": longest.get("precision_ran", ""),
        "kernels": calls(activities),
        "busy_ms": busy_ns(activities) / NS_PER_MS,
    }
