"""Analyzes the matmul study: each product's rate, the kernel that ran, its tiles and waves."""

from collections.abc import Sequence

from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.kernel_words import tile
from workflow_src.studies.matmul.tiles import covered
from workflow_src.studies.rows import busy_ns, calls
from workflow_src.studies.study import Point, Row

DIVISORS = (32, 16, 8, 2, 1)


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with divisor; measured ones also with rate, kernel, tile, waves and busy time."""
    sizes: list[Row] = [{"divisor": divisor(row["n"])} if "n" in row else {} for row in rows]
    return [row | size | _product(row) for row, size in zip(rows, sizes, strict=True)]


def _product(row: Row) -> Row:
    """The rate (TFLOP/s) of a measured product's 2 n^3 FLOPs, the kernel that ran, its waves."""
    if row["status"] != "ok":
        return {}
    tflops = 2 * row["n"] ** 3 / (row["median_ms"] * 1e9)
    kernel = kernel_of(row["activities"])
    tiles, waves = covered(row["n"], kernel["tile"], row.get("multiprocessors"))
    return {"tflops": tflops} | kernel | {"tiles": tiles, "waves": waves}


def kernel_of(activities: Sequence[Row]) -> Row:
    """The kernel with the most time, the tile and precision in its name, and busy time.

    Only matrix multiplications compete, if any ran. `kernels` and `busy_ms` cover all activities.
    """
    products = [row for row in activities if row["family"] == "gemm"]
    longest = max(products or activities, key=lambda row: int(row["busy_ns"]), default=None)
    return {
        "kernel": longest["short_name"] if longest else "",
        "tile": tile(longest["name"]) if longest else "",
        "ran": longest["precision_ran"] if longest else "",
        "kernels": calls(activities),
        "busy_ms": busy_ns(activities) / NS_PER_MS,
    }


def divisor(n: int) -> int:
    """The largest of DIVISORS that divides n."""
    return next(d for d in DIVISORS if n % d == 0)
