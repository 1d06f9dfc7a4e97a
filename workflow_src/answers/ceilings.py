"""The measured rates of a machine, and what comes to them."""

from typing import Any

import pandas as pd

from workflow_src.paper.number import NAN, Numbers, holds, lift, of
from workflow_src.paper.run import Run

MEMORY_BOUND, FEW_FLOPS = 0.50, 0.05
"""See `memory_bound`."""

CACHED = 1.2


def memory(run: Run) -> Any:
    """The best measured rate of memory that is read and written, GB/s."""
    rows = run["ceilings"]
    rows = rows[(rows["kind"] == "bandwidth") & rows["name"].isin(["copy", "scale", "triad"])]
    return max(lift(rows["best_gb_per_s"]).dropna(), default=NAN)


def peaks(run: Run) -> pd.Series:
    """By precision the best measured rate of a matrix product, TFLOP/s."""
    rows = run["ceilings"]
    rows = rows[(rows["kind"] == "compute") & rows["best_tflop_per_s"].notna()]
    best = rows.loc[rows.groupby("precision")["best_tflop_per_s"].idxmax()]
    return lift(best["best_tflop_per_s"]).set_axis(best["precision"])


def memory_bound(run: Run, rate: Numbers, computes: Numbers) -> Numbers:
    """Whether work is memory-bound: it comes to MEMORY_BOUND of memory's measured rate (GB/s) with
    less than FEW_FLOPS of a matrix product's TFLOP/s in the slowest precision, whose units
    elementwise work has. Above CACHED, much moves within caches, so that this isn't told."""
    of_memory, of_peak = rate / memory(run), computes / of(peaks(run), "min")
    told = of_memory.where(of_peak.notna() & ~(of_memory > CACHED).astype(bool))
    rule = f"GB/s / memory's >= {MEMORY_BOUND:.0%}, and TFLOP/s / a product's < {FEW_FLOPS:.0%}"
    return holds(told, (of_memory >= MEMORY_BOUND) & (of_peak < FEW_FLOPS), rule)
