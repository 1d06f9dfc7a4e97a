"""Where attention's times are those of launching, and how many kernels each version launches."""

import math
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
    """At which profiled contexts all that were profiled wait for launches, and how much.

    `waits` are these contexts from the shortest on, `up_to` the longest of them (0 without any),
    `most` the largest busy share at them. `unprofiled` ran at one of them without a profile of both
    passes. `fastest` lists longer contexts at which the fastest implementation still waits. None if
    nothing was profiled.
    """
    profiled = [row for row in rows if row.get("busy_ms") is not None]
    if not profiled:
        return None
    waits = _waiting_contexts(profiled)
    up_to = max(waits, default=0)
    here = sorted((r for r in rows if r["context"] in waits), key=lambda r: int(r["context"]))
    shares = [share for row in here if (share := busy_share(row)) is not None]
    return {
        "waits": waits,
        "up_to": up_to,
        "most": max(shares, default=0.0),
        "unprofiled": [row for row in here if row.get("busy_ms") is None],
        "fastest": _waiting_fastest([row for row in rows if row["context"] > up_to]),
    }


def _waiting_contexts(profiled: Sequence[Row]) -> list[int]:
    """The profiled contexts, from the shortest on, before the first one with a busy device."""
    busy = [row for row in profiled if (busy_share(row) or 0.0) >= LAUNCH_BOUND_BELOW]
    first = min((row["context"] for row in busy), default=math.inf)
    return sorted({int(row["context"]) for row in profiled if row["context"] < first})


def _waiting_fastest(rows: Sequence[Row]) -> list[Row]:
    """The fastest implementation of each context, where it is known to wait for launches."""
    found = []
    for context in sorted({int(row["context"]) for row in rows}):
        here = [row for row in rows if row["context"] == context]
        best = min(here, key=lambda row: float(row["total_ms"]))
        share = busy_share(best)
        if share is not None and share < LAUNCH_BOUND_BELOW:
            found.append(best | {"busy_share": share})
    return found


def most_kernels(rows: Sequence[Row]) -> list[Row]:
    """The rows with the most and the fewest kernels at the longest profiled context."""
    counted = [row for row in rows if row.get("kernels") is not None]
    longest = max((row["context"] for row in counted), default=0)
    here = [row for row in counted if row["context"] == longest]
    if len(here) < 2:
        return []
    return [max(here, key=lambda r: int(r["kernels"])), min(here, key=lambda r: int(r["kernels"]))]
