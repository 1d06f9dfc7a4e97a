"""How near fused attention comes to two ceilings: that of matrix products, and of exponentials.

For each score, a fused forward pass computes 4 FLOPs per head dimension (QK^T and AV) and one
exponential. The rate of exponentials is the same at every head size, so at small ones they take
longer than the products (Shah et al., FlashAttention-3, 2024, arXiv:2407.08608).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from workflow_src.studies.attention.analyze import sweep
from workflow_src.studies.study import Row

FUSED = ("sdpa_efficient", "sdpa_flash", "sdpa_cudnn")
"""The implementations that compute causal attention in one kernel, without masked blocks."""

MS_PER_S = 1e3

SAME_WITHIN = 1.1
"""Passes whose times are within this ratio count as equally long."""


def judge(table: pd.DataFrame, ceilings: pd.DataFrame) -> dict[str, Any]:
    """Values for the template: `bounds`, or None where nothing can be said."""
    cores = sweep(table, "core")
    known = bool(cores) and not ceilings.empty
    rates = ceilings_for(ceilings, cores[0]["precision"]) if known else {}
    return {"bounds": bounds(cores, rates)}


def ceilings_for(ceilings: pd.DataFrame, precision: str) -> dict[str, float]:
    """The best `tflop_per_s` of a precision and `giga_exp_per_s`; of those that were measured."""
    best = ceilings[ceilings["is_ceiling"].astype(str) == "True"]
    products = best[(best["kind"] == "compute") & (best["precision"] == precision)]
    exponentials = best[best["kind"] == "exponential"]
    found = {
        "tflop_per_s": products["best_tflop_per_s"],
        "giga_exp_per_s": exponentials["best_giga_exp_per_s"],
    }
    return {name: float(column.iloc[0]) for name, column in found.items() if len(column)}


def bounds(cores: Sequence[Row], rates: Mapping[str, float]) -> dict[str, Any] | None:
    """Per head size the fastest fused forward pass at its longest context, against the ceilings.

    equal_at: the head size at which both take as long at their ceilings. None without a fused
    pass, or without either rate.
    """
    fused = [
        row
        for row in cores
        if row["implementation"] in FUSED and row["phase"] == "forward" and row["status"] == "ok"
    ]
    if not fused or len(rates) < 2:
        return None
    rows = [
        _bound(_longest(fused, size), rates) for size in sorted({r["head_size"] for r in fused})
    ]
    flops_per_score = rates["tflop_per_s"] * 1e12 / (rates["giga_exp_per_s"] * 1e9)
    return {"rows": rows, "equal_at": flops_per_score / 4, "flat": _flat(rows), **rates}


def _flat(rows: Sequence[Row]) -> Row | None:
    """The largest head size whose pass takes as long as that of the smallest; None if none does.

    longer: the ratio of their times; more: that of their products' FLOPs.
    """
    first = rows[0]
    alike = [
        {"first": first["head_size"], "last": row["head_size"], "longer": row["ms"] / first["ms"]}
        | {"more": row["head_size"] / first["head_size"]}
        for row in rows[1:]
        if row["context"] == first["context"] and row["ms"] <= SAME_WITHIN * first["ms"]
    ]
    return alike[-1] if alike else None


def _longest(fused: Sequence[Row], head_size: int) -> Row:
    """The fastest pass of a head size at its longest context."""
    mine = [row for row in fused if row["head_size"] == head_size]
    longest = max(row["context"] for row in mine)
    return min((r for r in mine if r["context"] == longest), key=lambda r: float(r["median_ms"]))


def _bound(row: Row, rates: Mapping[str, float]) -> Row:
    """A pass with what its causal products and exponentials take at their ceilings."""
    scores = row["batch"] * row["heads"] * row["context"] * (row["context"] + 1) / 2
    products_ms = 4 * row["head_size"] * scores / (rates["tflop_per_s"] * 1e12) * MS_PER_S
    exponentials_ms = scores / (rates["giga_exp_per_s"] * 1e9) * MS_PER_S
    return {
        "words": row["words"],
        "head_size": int(row["head_size"]),
        "context": int(row["context"]),
        "ms": row["median_ms"],
        "products": products_ms / row["median_ms"],
        "exponentials": exponentials_ms / row["median_ms"],
        "nearer": "exponentials" if exponentials_ms > products_ms else "matrix products",
    }
