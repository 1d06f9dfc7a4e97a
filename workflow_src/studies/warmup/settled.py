"""When steps are settled, and how long a settled one takes."""

import statistics
from collections.abc import Sequence

SETTLED_WITHIN = 0.10
"""A step is settled if it differs from the settled median by at most this share."""


def settled_median(values: Sequence[float]) -> float:
    """The median of the last half of `values`."""
    return statistics.median(values[len(values) // 2 :])


def settled_after(values: Sequence[float], within: float = SETTLED_WITHIN) -> int | None:
    """Number of steps after which all others lie within a share of the settled median.

    None if even the last one does not.
    """
    settled = settled_median(values)
    apart = [i for i, value in enumerate(values) if abs(value - settled) > within * settled]
    steps = apart[-1] + 1 if apart else 0
    return steps if steps < len(values) else None
