"""Analyzes the matmul study: rates, kernels and tiles, and the verdicts on them."""

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import pandas as pd

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.common.units import NS_PER_MS
from workflow_src.render.markdown import plain
from workflow_src.studies import join_points
from workflow_src.studies.matmul.points import PRECISIONS
from workflow_src.studies.matmul.remarks import APART, beyond_median, launch_bound, unsteady
from workflow_src.studies.matmul.tiles import TILE, sizes_past, tiles, waves
from workflow_src.studies.rows import busy_ns, calls, filled
from workflow_src.studies.study import Point, Row

DIVISORS = (32, 16, 8, 2, 1)

DATASHEET = {"fp32": 67.0, "tf32": 494.0, "bf16": 989.0, "fp8": 1979.0}
"""Dense peak rates in TFLOP/s of H100 SXM and H200 SXM, from NVIDIA's datasheets."""

DATASHEET_GPUS = ("NVIDIA H100 80GB HBM3", "NVIDIA H200")
"""Their names in the driver; H100 PCIe and the NVL models are slower."""

DROP = 0.05
"""Rates that differ by at least this share count as different."""

SWEEPS = ("sizes", "edge", "past_edge", "divisibility")


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with divisor and waves; measured ones also with rate, kernel, tile, busy time."""
    return [row | _size(row) | _product(row) for row in rows]


def _size(row: Row) -> Row:
    """What a row's size means for tiles and alignment; empty for a row without a size."""
    if "n" not in row:
        return {}
    found: Row = {"divisor": divisor(row["n"])}
    if "multiprocessors" in row:
        found["waves"] = waves(row["n"], row["multiprocessors"])
    return found


def _product(row: Row) -> Row:
    """The rate (TFLOP/s) of a measured product's 2 n^3 FLOPs, and the kernel that ran."""
    if row["status"] != "ok":
        return {}
    tflops = 2 * row["n"] ** 3 / (row["median_ms"] * 1e9)
    return {"tflops": tflops} | kernel_of(row["activities"])


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


def tile_of(name: str) -> str:
    """The tile in a kernel's name, as "128x256"; empty if the name has none."""
    found = re.search(r"(?<![A-Za-z0-9])(?:tilesize)?(\d{1,3}x\d{1,3})(?=[x_]|$)", name)
    return found[1] if found else ""


def divisor(n: int) -> int:
    """The largest of 1, 2, 8, 16, 32 that divides n."""
    return next(d for d in DIVISORS if n % d == 0)


def expected_drop(below: int, above: int, multiprocessors: int) -> float:
    """Share of the rate that is lost from n = `below` to n = `above` due to waves alone.

    The time of a wave is proportional to n, so the rate is proportional to n^3 / (n waves).
    """
    rates = [n * n / waves(n, multiprocessors) for n in (below, above)]
    return 1 - rates[1] / rates[0]


def sweep(table: pd.DataFrame, name: str, status: str = "ok") -> list[Row]:
    """The rows of a sweep with that status, by precision, then by rising size."""
    rows = [row for row in filled(table) if row["sweep"] == name and row["status"] == status]
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


def edge_verdict(rows: Sequence[Row]) -> dict[str, Any] | None:
    """The rates at the edge, the largest drop between neighboring sizes, and where that is.

    `drop` is "at_edge", "elsewhere" or "none" (below DROP). Returns None if the edge, or the size
    after it, is not among `rows`, which are in rising order of n.
    """
    pairs = list(pairwise(rows))
    here = [pair for pair in pairs if pair[0]["n"] == pair[0]["edge"]]
    if not here:
        return None
    drops = {low["n"]: 1 - high["tflops"] / low["tflops"] for low, high in pairs}
    largest = max(drops, key=lambda n: drops[n])
    below, above = here[0]
    place = "at_edge" if largest == below["n"] else "elsewhere"
    tiled = [row["tile"] for row in rows if row.get("tile")]
    assumed = (f"{TILE[0]}x{TILE[1]}", f"{TILE[1]}x{TILE[0]}")
    return {
        "drop": place if drops[largest] >= DROP else "none",
        "below": below,
        "above": above,
        "at_edge": drops[below["n"]],
        "expected": expected_drop(int(below["n"]), int(above["n"]), int(below["multiprocessors"])),
        "largest": drops[largest],
        "largest_after": largest,
        "tiles": tiles(int(below["n"])),
        "tiles_past": tiles(int(below["n"]) + 1),
        "waves": waves(int(below["n"]), int(below["multiprocessors"])),
        "last_wave": tiles(int(below["n"]) + 1) % int(below["multiprocessors"]),
        "tiled": len(tiled),
        "assumed": sum(tile in assumed for tile in tiled),
        "sizes": len(rows),
    }


def just_past(rows: Sequence[Row]) -> dict[str, Any] | None:
    """The rates at an edge, with one more row, and at the next aligned size; None without one.

    `change`: over the rate at the edge; `odd`: the share of the aligned size's rate that one more
    row is short of.
    """
    found = {int(row["n"]): row for row in rows}
    sizes = sizes_past(min(found)) if found else []
    if not sizes or not found.keys() >= set(sizes):
        return None
    edge, more, aligned = (found[n] for n in sizes)
    change = {
        name: row["tflops"] / edge["tflops"] - 1
        for name, row in {"more": more, "aligned": aligned}.items()
    }
    odd = 1 - more["tflops"] / aligned["tflops"]
    return {"edge": edge, "more": more, "aligned": aligned, "change": change, "odd": odd}


def divisor_classes(rows: Sequence[Row]) -> list[Row]:
    """The median and range of the rates for each divisor, largest divisor first."""
    found: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: -int(row["divisor"])):
        found.setdefault(int(row["divisor"]), []).append(row)
    return [
        {
            "divisor": divisor,
            "sizes": len(mine),
            "tflops": median(row["tflops"] for row in mine),
            "least": min(row["tflops"] for row in mine),
            "most": max(row["tflops"] for row in mine),
            "kernels": ", ".join(sorted({row["kernel"] for row in mine})),
        }
        for divisor, mine in found.items()
    ]


def divisor_verdict(classes: Sequence[Row]) -> dict[str, Any] | None:
    """The divisors with the highest and lowest median rate, and the gap between them as a share.

    `rising` says whether the median never falls from a divisor to the next larger one.
    """
    if len(classes) < 2:
        return None
    fastest = max(classes, key=lambda row: float(row["tflops"]))
    slowest = min(classes, key=lambda row: float(row["tflops"]))
    rates = [row["tflops"] for row in classes]
    gap = 1 - slowest["tflops"] / fastest["tflops"]
    return {
        "fastest": fastest,
        "slowest": slowest,
        "gap": gap,
        "seen": gap >= DROP,
        "rising": rates == sorted(rates, reverse=True),
    }


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
        "past_edge": just_past(sweep(table, "past_edge")),
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
