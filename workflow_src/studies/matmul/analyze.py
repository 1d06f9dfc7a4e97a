"""Analyzes the matmul study: each product's rate, and the kernel that ran."""

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
    """The rate (TFLOP/s) of a product's 2 n^3 FLOPs, and the kernel with the most time.

    Only matrix multiplications compete for that, if any ran.
    """
    products = [each for each in row["activities"] if each["family"] == "gemm"]
    longest = (products or row["activities"] or [{}])[0]
    return {
        "tflops": 2 * row["n"] ** 3 / (row["median_ms"] * 1e9),
        "kernel": longest.get("short_name", ""),
        "ran": longest.get("precision_ran", ""),
    }
