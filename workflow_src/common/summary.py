"""Summary statistics of raw samples."""

from collections.abc import Sequence

import numpy as np

from workflow_src.common.units import NS_PER_MS


def summarize(samples_ns: Sequence[int]) -> dict[str, float]:
    """Statistics of samples. Of a single one, std_ms, the sample standard deviation, is NaN.

    Raises ValueError without samples.
    """
    if not samples_ns:
        raise ValueError("no samples to summarize")
    ms = np.asarray(samples_ns, dtype=np.float64) / NS_PER_MS
    std = float(ms.std(ddof=1)) if len(ms) > 1 else float("nan")
    p20, median, p80 = np.percentile(ms, [20, 50, 80])
    return {
        "samples": len(ms),
        "mean_ms": float(ms.mean()),
        "median_ms": float(median),
        "std_ms": std,
        "p20_ms": float(p20),
        "p80_ms": float(p80),
        "cv": std / float(ms.mean()),
    }


def by_process(samples_ns: Sequence[int], process: Sequence[int]) -> dict[str, float]:
    """Spread within and between processes: the median of their cv, extremes of their medians."""
    found = of_each_process(samples_ns, process)
    medians = [row["median_ms"] for row in found]
    return {
        "processes": len(found),
        "within_cv": float(np.median([row["cv"] for row in found])),
        "fastest_ms": min(medians),
        "slowest_ms": max(medians),
    }


def of_each_process(samples_ns: Sequence[int], process: Sequence[int]) -> list[dict[str, float]]:
    """`summarize` of each process, in their order."""
    ns, of = np.asarray(samples_ns), np.asarray(process)
    return [summarize(ns[of == number].tolist()) for number in np.unique(of)]
