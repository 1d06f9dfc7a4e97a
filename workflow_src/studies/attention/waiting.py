"""Where attention's times are those of launching, and how many kernels each version launches."""

from collections.abc import Sequence
from typing import Any

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.studies.study import Row

SHOWN_AS_ALL = 1.005
"""Busy shares above this are shown as more than 100 %."""


def busy_share(row: Row) -> float | None:
    """The share of forward and backward in which a GPU is busy; None if not profiled."""
    return None if row.get("busy_ms") is None else float(row["busy_ms"] / row["total_ms"])


def launching(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Up to which context every profiled implementation waits for launches, and how much.

    `up_to` is 0 if there is no such context. `fastest` lists longer contexts at which the fastest
    implementation still does. None if nothing was profiled.
    """
    profiled = [row for row in rows if row.get("busy_ms") is not None]
    if not profiled:
        return None
    up_to, most = 0, 0.0
    fastest: list[Row] = []
    for context in sorted({int(row["context"]) for row in profiled}):
        here = [row for row in profiled if row["context"] == context]
        shares = [share for row in here if (share := busy_share(row)) is not None]
        if max(shares) < LAUNCH_BOUND_BELOW and not fastest:
            up_to, most = context, max(most, *shares)
        else:
            best = min(here, key=lambda row: float(row["total_ms"]))
            share = busy_share(best) or 0.0
            if share < LAUNCH_BOUND_BELOW:
                fastest.append(best | {"busy_share": share})
    waits = [row for row in rows if row["context"] <= up_to]
    times = [row["total_ms"] for row in waits]
    contexts = sorted({int(row["context"]) for row in profiled})
    found = {"up_to": up_to, "most": most, "fastest": fastest, "contexts": contexts}
    return found | {"times": times, "limit": LAUNCH_BOUND_BELOW}


def most_kernels(rows: Sequence[Row]) -> list[Row]:
    """The rows with the most and the fewest kernels at the longest profiled context."""
    counted = [row for row in rows if row.get("kernels") is not None]
    longest = max((row["context"] for row in counted), default=0)
    here = [row for row in counted if row["context"] == longest]
    if len(here) < 2:
        return []
    return [max(here, key=lambda r: int(r["kernels"])), min(here, key=lambda r: int(r["kernels"]))]
