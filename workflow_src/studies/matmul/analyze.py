"""Study: the rate of square matrix products over their size, and what edges of tiles cost."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import plain
from workflow_src.studies.matmul import tables as matmul_tables
from workflow_src.studies.matmul.tiles import TILE, expected_drop
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Point, Row

TITLE = "Matrix multiplication: rate over size, and the edges of tiles"

SIZES = {
    ("cpu", "small"): [64, 128, 256, 512],
    ("cpu", "full"): [64, 128, 256, 512, 1024, 2048],
    ("cuda", "small"): [128, 256, 512, 1024, 2048],
    ("cuda", "full"): [128, 256, 512, 1024, 2048, 4096, 8192, 16384],
}
PRECISIONS = ("fp32", "tf32", "bf16", "fp8")

DATASHEET = {"fp32": 67.0, "tf32": 494.0, "bf16": 989.0, "fp8": 1979.0}
"""Dense peaks in TFLOP/s of H100 SXM and H200 SXM, from NVIDIA's datasheets of the two."""

DATASHEET_GPUS = ("NVIDIA H100 80GB HBM3", "NVIDIA H200")
"""Their names as the driver has them; H100 PCIe and the NVL models are slower."""

DROP = 0.05
"""A difference between rates that is at least this share is called one."""

LAUNCH_BOUND_BELOW = 0.5
"""A product is launch-bound whose kernels are busy for less than this share of its time."""


def points(device: str, scale: str) -> list[dict[str, Any]]:
    """One point for all sizes, one for the two fine sweeps."""
    fine = {"precision": "bf16", "near": 2048} if device == "cuda" else _fine_on_cpu
    return [
        {"point": "sizes", "sizes": SIZES[device, scale], "precisions": list(PRECISIONS)},
        {"point": "fine", **fine, "reach": 256, "step": 32},
    ]


_fine_on_cpu = {"precision": "fp32", "near": 256}


def measure(point: Point) -> list[Row]:
    """A row per product."""
    from workflow_src.studies.matmul.measure import measure_products

    return measure_products(point)


def sweep(table: pd.DataFrame, name: str, status: str = "ok") -> list[Row]:
    """The rows of a sweep with that status, by rising size in the order of precisions."""
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

    `half_from`: the least n from which on all rates are at least half the best one.
    """
    found = []
    for precision, mine in by_precision(rows).items():
        best = max(mine, key=lambda row: float(row["tflops"]))
        slow = [row["n"] for row in mine if row["tflops"] < best["tflops"] / 2]
        half_from = min(row["n"] for row in mine if row["n"] > max(slow, default=0))
        peak = {"precision": precision, "tflops": best["tflops"], "n": best["n"]}
        peak |= {"half_from": half_from, "ran": best.get("ran"), "kernel": best["kernel"]}
        if best.get("gpu") in DATASHEET_GPUS:
            sheet = DATASHEET[precision]
            peak |= {"datasheet": sheet, "of_datasheet": best["tflops"] / sheet}
        found.append(peak)
    return found


def edge_verdict(rows: Sequence[Row]) -> dict[str, Any] | None:
    """The rates at the edge, the largest drop between neighbours, and where that is.

    `drop` is one of at_edge, elsewhere and none (below DROP). None where the edge, or the size
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
        "tiled": len(tiled),
        "assumed": sum(tile in assumed for tile in tiled),
        "sizes": len(rows),
    }


def divisor_classes(rows: Sequence[Row]) -> list[Row]:
    """The median and range of the rates of each divisor, largest divisor first."""
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
    """The fastest and slowest divisor and the gap between their medians, as a share.

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
    """Peaks, where half of each is reached, and the verdicts on edge and divisibility."""
    rows = sweep(table, "sizes")
    on_device = [row for row in rows if row.get("gpu")]
    fine = sweep(table, "divisibility")
    return {
        "peaks": peaks(rows),
        "launch_bound": max((int(row["n"]) for row in on_device if launch_bound(row)), default=0),
        "other_precision": [
            f"{precision} ({', '.join(ran)})"
            for precision, mine in by_precision(rows).items()
            if (ran := sorted({row["ran"] for row in mine if row.get("ran")} - {precision}))
        ],
        "edge": edge_verdict(sweep(table, "edge")),
        "tile": f"{TILE[0]}x{TILE[1]}",
        "divisors": divisor_verdict(divisor_classes(fine)),
        "fine_precision": fine[0]["precision"] if fine else "",
        "fine_span": (int(fine[0]["n"]), int(fine[-1]["n"])) if fine else (),
        "drop_limit": DROP,
        "busy_limit": LAUNCH_BOUND_BELOW,
        "skipped": [
            f"{row['precision']} {row['sweep']}: {row['reason']}"
            for name in ("sizes", "edge", "divisibility")
            for row in sweep(table, name, "skipped")
        ],
        "oom": [
            f"{row['precision']} n = {plain(row['n'])}"
            for name in ("sizes", "edge", "divisibility")
            for row in sweep(table, name, "oom")
        ],
    }


def launch_bound(row: Row) -> bool:
    """Whether the device waits for launches for most of a product's time."""
    return bool(row["busy_ms"] < LAUNCH_BOUND_BELOW * row["median_ms"])


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Peaks, all sizes, the sizes across the edge, and the divisors."""
    rows = sweep(table, "sizes")
    return {
        "peaks": matmul_tables.peaks(peaks(rows)),
        "sizes": matmul_tables.sizes(rows, sweep(table, "sizes", "oom")),
        "edge": matmul_tables.edge(sweep(table, "edge")),
        "divisors": matmul_tables.divisors(divisor_classes(sweep(table, "divisibility"))),
    }


def draw(table: pd.DataFrame, path: Path) -> None:
    """Rate over size, across the edge, and by divisor."""
    from workflow_src.answers.figures import svg
    from workflow_src.studies.matmul.figure import figure

    sweeps = [sweep(table, name) for name in ("sizes", "edge", "divisibility")]
    path.write_text(svg(lambda: figure(*sweeps), "study_matmul"), encoding="utf-8")
