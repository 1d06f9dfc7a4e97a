"""Analyzes the matmul study: rates, kernels and tiles, and the verdicts on them."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.common.units import NS_PER_MS
from workflow_src.render.markdown import plain
from workflow_src.studies import join_points
from workflow_src.studies.matmul.points import PRECISIONS
from workflow_src.studies.matmul.remarks import APART, beyond_median, launch_bound, unsteady
from workflow_src.studies.matmul.tiles import TILE
from workflow_src.studies.matmul.verdicts import (
    DROP,
    divisor_classes,
    divisor_verdict,
    edge_verdict,
    just_past,
)
from workflow_src.studies.matmul.waves import covered, tile_of
from workflow_src.studies.rows import busy_ns, calls, filled
from workflow_src.studies.study import Point, Row

DIVISORS = (32, 16, 8, 2, 1)

DATASHEET = {"fp32": 67.0, "tf32": 494.0, "bf16": 989.0, "fp8": 1979.0}
"""Dense peak rates in TFLOP/s of H100 SXM and H200 SXM, from NVIDIA's datasheets."""

DATASHEET_GPUS = ("NVIDIA H100 80GB HBM3", "NVIDIA H200")
"""Their names in the driver; H100 PCIe and the NVL models are slower."""

FINE = ("edge", "past_edge", "divisibility")
SWEEPS = ("sizes", *FINE)


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with divisor; measured ones also with rate, kernel, tile, waves and busy time."""
    return [row | _size(row) | _product(row) for row in rows]


def _size(row: Row) -> Row:
    """What a row's size means for alignment; empty for a row without a size."""
    return {"divisor": divisor(row["n"])} if "n" in row else {}


def _product(row: Row) -> Row:
    """The rate (TFLOP/s) of a measured product's 2 n^3 FLOPs, the kernel that ran, its waves."""
    if row["status"] != "ok":
        return {}
    tflops = 2 * row["n"] ** 3 / (row["median_ms"] * 1e9)
    kernel = kernel_of(row["activities"])
    return {"tflops": tflops} | kernel | covered(row | kernel)


def kernel_of(activities: Sequence[Row]) -> Row:
    """The kernel with the most time, the tile and precision in its name, and busy time.

    Only matrix multiplications compete, if any ran. `kernels` and `busy_ms` cover all activities.
    """
    products = [row for row in activities if row["family"] == "gemm"]
    longest = max(products or activities, key=lambda row: int(row["busy_ns"]), default=None)
    return {
        "kernel": longest["short_name"] if longest else "",
        "tile": tile_of(longest["name"]) if longest else "",
        "ran": longest["precision_ran"] if longest else "",
        "kernels": calls(activities),
        "busy_ms": busy_ns(activities) / NS_PER_MS,
    }


def divisor(n: int) -> int:
    """The largest of 1, 2, 8, 16, 32 that divides n."""
    return next(d for d in DIVISORS if n % d == 0)


def sweep(table: pd.DataFrame, name: str, status: str = "ok") -> list[Row]:
    """The rows of a sweep with that status, by precision, then by rising size."""
    rows = [row for row in filled(table) if row["sweep"] == name and row["status"] == status]
    # Older tables have the waves of the assumed tile.
    rows = [row | covered(row) for row in rows]
    return sorted(rows, key=lambda row: (PRECISIONS.index(row["precision"]), row.get("n") or 0))


def by_precision(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by precision."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["precision"], []).append(row)
    return found


def peaks(rows: Sequence[Row]) -> list[Row]:
    """The best rate of each precision, its share of the datasheet's, and where half is reached.

    `half_from`: the smallest n from which on all rates are at least half the best one; None if
    that of the largest n is not.
    """
    found = []
    for precision, mine in by_precision(rows).items():
        best = max(mine, key=lambda row: float(row["tflops"]))
        slow = [row["n"] for row in mine if row["tflops"] < best["tflops"] / 2]
        fast = [row["n"] for row in mine if row["n"] > max(slow, default=0)]
        peak = {"precision": precision, "tflops": best["tflops"], "n": best["n"]}
        peak |= {"half_from": min(fast, default=None)}
        peak |= {"ran": best.get("ran"), "kernel": best["kernel"]}
        if best.get("gpu") in DATASHEET_GPUS:
            sheet = DATASHEET[precision]
            peak |= {"datasheet": sheet, "of_datasheet": best["tflops"] / sheet}
        found.append(peak)
    return found


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Values for the template: peaks and the verdicts on edge and divisibility."""
    rows = sweep(table, "sizes")
    on_device = [row for row in rows if row.get("gpu")]
    fine = sweep(table, "divisibility")
    return {
        "peaks": peaks(rows),
        "unsteady": unsteady(rows),
        "beyond": beyond_median(rows),
        "apart": APART,
        "launch_bound": max((int(row["n"]) for row in on_device if launch_bound(row)), default=0),
        "other_precision": [
            f"{precision} ({', '.join(ran)})"
            for precision, mine in by_precision(rows).items()
            if (ran := sorted({row["ran"] for row in mine if row.get("ran")} - {precision}))
        ],
        "edge": edge_verdict(sweep(table, "edge")),
        "past_edge": just_past(
            sweep(table, "past_edge"), [row for name in FINE for row in sweep(table, name)]
        ),
        "tile": f"{TILE[0]}x{TILE[1]}",
        "divisors": divisor_verdict(divisor_classes(fine)),
        "tried_divisors": DIVISORS,
        "fine_precision": fine[0]["precision"] if fine else "",
        "fine_span": (int(fine[0]["n"]), int(fine[-1]["n"])) if fine else (),
        "drop_limit": DROP,
        "busy_limit": LAUNCH_BOUND_BELOW,
        "skipped": [
            f"{row['precision']} {row['sweep']}: {row['reason']}"
            for name in SWEEPS
            for row in sweep(table, name, "skipped")
        ],
        "oom": [
            f"{row['precision']} n = {plain(row['n'])}"
            for name in SWEEPS
            for row in sweep(table, name, "oom")
        ],
    }


if __name__ == "__main__":
    join_points.main(derive)
