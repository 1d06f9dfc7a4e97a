"""Analyzes the fusion study: rates relative to a copy, launches, and the gain from fusion."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from workflow_src.common.ceilings import TOLERANCE, over_ceiling, rate_of
from workflow_src.common.units import NS_PER_MS
from workflow_src.render.markdown import between, number, percent, plain, whole
from workflow_src.studies import join_points
from workflow_src.studies.fusion.copies import L2_MIB, LARGE, bandwidth, cached, uneven_copies
from workflow_src.studies.fusion.points import IMPLEMENTATIONS, launches_alike
from workflow_src.studies.rows import calls, filled
from workflow_src.studies.study import Point, Row

NAMES = {
    "copy": "copy",
    "written_out": "written out",
    "torch": "torch's own",
    "compiled": "torch.compile",
    "triton": "Triton",
    "cuda": "CUDA C++",
}
"""The names of the implementations in the report."""

OPERATIONS = {"gelu": "GeLU", "softmax": "Softmax"}
ELEMENT_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}

NEAR_COPY = 0.90
NO_SLOWER_WITHIN = 0.02
"""Medians that differ by at most this share count as equal."""

Shape = tuple[str, str, int, int]
"""Operation, dtype, rows and columns."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with elements, launches, bytes, rate, and its share of the rate of a copy.

    Rows of a ceiling become a column, the best of their rates: `ceiling_gb_per_s`.
    """
    ceilings = [row for row in rows if row.get("kind") == "bandwidth" and row["status"] == "ok"]
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


def shape_of(row: Row) -> Shape:
    """What rows must have in common to be compared with each other."""
    return row["operation"], row["dtype"], int(row["rows"]), int(row["columns"])


def measured(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The measured rows, without copies."""
    return [r for r in filled(table) if r["status"] == "ok" and r["implementation"] != "copy"]


def _shape_name(row: Row) -> str:
    rows = f"{whole(row['rows'])} x " if row["operation"] == "softmax" else ""
    size = rows + (plain(row["columns"]) if rows else power(row["elements"]))
    return f"{size} {row['dtype']}"


def power(elements: float) -> str:
    """A number of elements as text, as a power of two if it is one: 2^20."""
    count = int(elements)
    return f"2^{count.bit_length() - 1}" if count & (count - 1) == 0 else whole(count)


def speedups(rows: Sequence[Row], slow: str, fast: str) -> list[float]:
    """The median of `slow` over that of `fast`, at each shape that has both."""
    times = {(shape_of(row), row["implementation"]): row["median_ms"] for row in rows}
    shapes = [shape for shape, name in times if name == fast and (shape, slow) in times]
    return [times[shape, slow] / times[shape, fast] for shape in shapes]


def largest(rows: Sequence[Row]) -> list[Row]:
    """The rows with the most elements."""
    most = max((row["elements"] for row in rows), default=0)
    return [row for row in rows if row["elements"] == most]


def verdict(rows: Sequence[Row]) -> dict[str, Any]:
    """The shapes at which Triton's kernel falls short of the copy, or of torch's own kernel.

    Only shapes of at least LARGE elements count.
    """
    large = [row for row in rows if row["elements"] >= LARGE]
    torchs = {shape_of(row): row["median_ms"] for row in large if row["implementation"] == "torch"}
    tritons = [row for row in large if row["implementation"] == "triton"]
    shares = [row["share_of_copy"] for row in tritons if row["share_of_copy"] is not None]
    return {
        "shapes": len(tritons),
        "shares": shares,
        "near_copy": sum(share >= NEAR_COPY for share in shares),
        "short_of_copy": [
            f"{_shape_name(row)} ({percent(row['share_of_copy'])})"
            for row in tritons
            if row["share_of_copy"] is not None and row["share_of_copy"] < NEAR_COPY
        ],
        "slower": [
            f"{_shape_name(row)} ({number(row['median_ms'] / torchs[shape_of(row)])} x)"
            for row in tritons
            if shape_of(row) in torchs
            and row["median_ms"] > (1 + NO_SLOWER_WITHIN) * torchs[shape_of(row)]
        ],
    }


def gains(rows: Sequence[Row]) -> dict[str, Any] | None:
    """What Triton's kernel gains at `rows`, over the written-out operation and torch's own kernel.

    `low`, `high`: how many times as fast as written out; `own`: what it saves over torch's own, and
    in which dtypes. None without both Triton's and the written-out operation.
    """
    ratios = speedups(rows, "written_out", "triton")
    if not ratios:
        return None
    own: dict[str, Row] = {}
    for dtype in dict.fromkeys(row["dtype"] for row in rows):
        mine = [row for row in rows if row["dtype"] == dtype]
        if saved := [1 - 1 / ratio for ratio in speedups(mine, "torch", "triton")]:
            words = _gain_words(saved)
            found = own.setdefault(words, {"words": words, "dtypes": [], "saved": []})
            found["dtypes"].append(dtype)
            found["saved"] += saved
    return {"low": min(ratios), "high": max(ratios), "own": list(own.values())}


def _gain_words(saved: Sequence[float]) -> str:
    """Shares of the time that are saved, in words; those of at most NO_SLOWER_WITHIN are nothing.

    A negative share is lost.
    """
    low, high = min(saved), max(saved)
    lost = f"takes up to {percent(-low)} longer" if low < -NO_SLOWER_WITHIN else ""
    if high <= NO_SLOWER_WITHIN:
        return lost or "gains nothing"
    gained = f"saves {between(saved, percent)} of the time"
    if low <= NO_SLOWER_WITHIN:
        gained = f"saves from nothing to {percent(high)} of the time"
    return f"{lost} to saving {percent(high)} of the time" if lost else gained


def _missing(rows: Sequence[Row], operation: str) -> dict[str, str]:
    """The implementations without a measurement, by reason."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row["operation"] == operation:
            named = found.setdefault(row["reason"], [])
            named += [name for name in [NAMES[row["implementation"]]] if name not in named]
    return {reason: ", ".join(named) for reason, named in found.items()}


def _of_operation(rows: Sequence[Row], skipped: Sequence[Row], operation: str) -> dict[str, Any]:
    mine = [row for row in rows if row["operation"] == operation]
    at_most = largest(mine)
    count = {row["implementation"]: row.get("kernels_launched") for row in at_most}
    return {
        "name": OPERATIONS[operation],
        "measured": len(mine),
        "most": power(at_most[0]["elements"]) if at_most else "",
        "written_out_kernels": count.get("written_out"),
        "fused_kernels": count.get("torch"),
        "speedup": speedups(at_most, "written_out", "torch"),
        "shares": {
            NAMES[name]: [r["share_of_copy"] for r in at_most if r["implementation"] == name]
            for name in IMPLEMENTATIONS[operation]
            if any(r["implementation"] == name and r["share_of_copy"] for r in at_most)
        },
        "triton": verdict(mine),
        "verdict": gains(at_most),
        "missing": _missing(skipped, operation),
    }


def against_copy(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The measured rows of uncached tensors, copies too, with their share of the bandwidth."""
    rows = [row for row in filled(table) if row["status"] == "ok"]
    rate = bandwidth(rows)
    return [
        row | {"of_bandwidth": row["achieved_gb_per_s"] / rate if rate else None}
        for row in rows
        if not cached(row)
    ]


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Values for the template, per operation: gain from fusion, share of a copy, gaps."""
    rows = measured(table)
    missing = [row for row in filled(table) if row["status"] != "ok"]
    ran = [row for row in filled(table) if row["status"] == "ok"]
    small = [row for row in ran if cached(row)]
    faster = [
        row | {"ahead": row["share_of_copy"] - 1}
        for row in against_copy(table)
        if (row["share_of_copy"] or 0) > 1 + NO_SLOWER_WITHIN
    ]
    rate = bandwidth(ran)
    beyond = [row for row in rows if over_ceiling(row["achieved_gb_per_s"], rate)]
    operations = [_of_operation(rows, missing, operation) for operation in IMPLEMENTATIONS]
    return {
        "operations": operations,
        "written": [
            found
            for found in operations
            if found["speedup"] and found["written_out_kernels"] and found["fused_kernels"] == 1
        ],
        "large": power(LARGE),
        "near_copy": NEAR_COPY,
        "no_slower_within": NO_SLOWER_WITHIN,
        "bandwidth": rate,
        "has_ceiling": any(row.get("ceiling_gb_per_s") for row in ran),
        "beyond": [f"{NAMES[row['implementation']]}, {_shape_name(row)}" for row in beyond],
        "tolerance": TOLERANCE,
        "uneven": uneven_copies(ran),
        "names": NAMES,
        "called": OPERATIONS,
        "faster": max(faster, key=lambda row: float(row["share_of_copy"]), default=None),
        "faster_rows": len(faster),
        "l2_mib": next((L2_MIB[r["gpu"]] for r in ran if r.get("gpu") in L2_MIB), None),
        "cached_rates": [r["achieved_gb_per_s"] for r in small if r["implementation"] == "copy"],
        "all_cached": len(small) == len(ran),
    }


if __name__ == "__main__":
    join_points.main(derive)
