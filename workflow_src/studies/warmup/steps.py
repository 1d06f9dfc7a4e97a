"""The numbers of one run of steps, the first ones among them, and when they settle."""

import statistics
from collections.abc import Sequence

from workflow_src.common.summary import NS_PER_MS
from workflow_src.studies.outcomes import spread
from workflow_src.studies.study import Row

SETTLED_WITHIN = 0.10
"""A step is settled that differs from the settled median by no more than this share."""


def settled_median(values: Sequence[float]) -> float:
    """The median of the last half of `values`."""
    return statistics.median(values[len(values) // 2 :])


def settled_after(values: Sequence[float], within: float = SETTLED_WITHIN) -> int | None:
    """How many steps come before all that follow lie within a share of the settled median.

    None where even the last one does not.
    """
    settled = settled_median(values)
    apart = [i for i, value in enumerate(values) if abs(value - settled) > within * settled]
    steps = apart[-1] + 1 if apart else 0
    return steps if steps < len(values) else None


def describe(warmup_ns: Sequence[int], measured_ns: Sequence[int]) -> Row:
    """The numbers of one run: totals of all steps and of warm-up, and the measured ones' spread.

    `settled_ms` and `settled_after_steps` are of all steps, warm-up or not. Unit: ms.
    """
    steps = [ns / NS_PER_MS for ns in (*warmup_ns, *measured_ns)]
    return {
        "total_ms": sum(steps),
        "warmup_ms": sum(warmup_ns) / NS_PER_MS,
        "first_step_ms": steps[0],
        "settled_ms": settled_median(steps),
        "settled_after_steps": settled_after(steps),
        **spread(measured_ns),
    }
