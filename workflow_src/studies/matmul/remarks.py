"""What the samples of matrix products warn of: two levels, and profiled calls beyond the median."""

from collections.abc import Sequence

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.studies.study import Row

APART = 0.05
"""Samples are unsteady if the 20th or 80th percentile is further from the median than this."""

UNSTEADY, WAITING = "u", "w"
"""Marks of rates in the table by size."""


def launch_bound(row: Row) -> bool:
    """Whether the device spends too much of a product's time waiting for launches."""
    return bool(row["busy_ms"] < LAUNCH_BOUND_BELOW * row["median_ms"])


def waits(row: Row) -> bool:
    """Whether a product ran on a GPU that mostly waited for its launch."""
    return bool(row.get("gpu")) and launch_bound(row)


def unsteady(rows: Sequence[Row]) -> list[Row]:
    """The products whose 20th or 80th percentile lies far from their median, the widest first.

    Not those that wait for launches, whose spread is the host's. `fast_tflops`,
    `slow_tflops`: the rates at the 20th and 80th percentile of the time; `width`: how far apart
    they are, as a share of the median's rate.
    """
    found = [row | _spread(row) for row in rows if not waits(row)]
    return sorted((row for row in found if row["gap"] > APART), key=lambda row: -row["width"])


def _spread(row: Row) -> Row:
    """The rates (TFLOP/s) at the percentiles, how far apart, and the larger gap to the median."""
    fast, slow = (row["median_ms"] / row[end] for end in ("p20_ms", "p80_ms"))
    return {
        "fast_tflops": row["tflops"] * fast,
        "slow_tflops": row["tflops"] * slow,
        "width": fast - slow,
        "gap": max(1 - 1 / fast, 1 / slow - 1),
    }


def beyond_median(rows: Sequence[Row]) -> list[Row]:
    """The products whose profiled kernels took longer than the median, with `over` as a share."""
    on_device = [row for row in rows if row.get("gpu")]
    found = [row | {"over": row["busy_ms"] / row["median_ms"] - 1} for row in on_device]
    return sorted((row for row in found if row["over"] > APART), key=lambda row: -row["over"])


def marks(row: Row) -> str:
    """The marks of a rate: that its samples are unsteady, or that launching limits it."""
    if waits(row):
        return WAITING
    return UNSTEADY if unsteady([row]) else ""
