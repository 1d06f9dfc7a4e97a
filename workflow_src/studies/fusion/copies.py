"""What a copy tells of the bandwidth of memory, and where a cache makes it say something else."""

from collections.abc import Sequence
from typing import Any

from workflow_src.common.units import MIB
from workflow_src.studies.study import Row

L2_MIB = {"NVIDIA H100 80GB HBM3": 50, "NVIDIA H200": 50}
"""Size of the L2 cache in MiB by the driver's name of the GPU, from NVIDIA's datasheets."""

LARGE = 2**26
"""From this many elements on, no cache holds the tensors; verdicts use only such shapes."""

SAME_WITHIN = 0.05
"""Copies of equal bytes whose times differ by at most this share agree."""


def cached(row: Row) -> bool:
    """Whether a row's input or output fits in the L2 cache, so that repeats can read it there.

    Not if the repeats took several sets of tensors in turn. Of a GPU whose cache isn't known:
    whether there are fewer than LARGE elements.
    """
    if (row.get("sets") or 1) > 1:
        return False
    size = L2_MIB.get(str(row.get("gpu")))
    if size is None:
        return bool(row["elements"] < LARGE)
    return bool(row["bytes_moved"] / 2 <= size * MIB)


def bandwidth(rows: Sequence[Row]) -> float | None:
    """The best rate (GB/s) of memory: the ceiling, or a faster copy; None without either.

    Only copies of tensors that no cache holds count. Points of earlier versions have no ceiling.
    """
    rates = [
        row["achieved_gb_per_s"]
        for row in rows
        if row["status"] == "ok" and row["implementation"] == "copy" and not cached(row)
    ]
    rates += [row["ceiling_gb_per_s"] for row in rows if row.get("ceiling_gb_per_s")]
    return max(rates, default=None)


def uneven_copies(rows: Sequence[Row]) -> dict[str, Any] | None:
    """The copies of equal bytes whose times differ most; None if all agree.

    A copy is then no ceiling: something else of the same bytes can be faster.
    """
    found: dict[int, list[Row]] = {}
    for row in rows:
        if row["status"] == "ok" and row["implementation"] == "copy" and not cached(row):
            found.setdefault(int(row["bytes_moved"]), []).append(row)
    pairs = [
        (min(mine, key=lambda r: float(r["median_ms"])), max(mine, key=lambda r: r["median_ms"]))
        for mine in found.values()
    ]
    widest = max(pairs, key=lambda pair: pair[1]["median_ms"] / pair[0]["median_ms"], default=None)
    if widest is None or widest[1]["median_ms"] <= (1 + SAME_WITHIN) * widest[0]["median_ms"]:
        return None
    fast, slow = widest
    ratio = slow["median_ms"] / fast["median_ms"] - 1
    return {"fast": fast, "slow": slow, "mib": slow["bytes_moved"] / MIB, "ratio": ratio}
