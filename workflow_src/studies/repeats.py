"""Time one call within a time budget, many short calls to a sample."""

from collections.abc import Callable

from workflow_src.common.summary import NS_PER_MS
from workflow_src.studies.outcomes import spread
from workflow_src.studies.study import Row
from workflow_src.studies.timing import time_call

FEWEST, MOST = 5, 50
"""Samples of a measurement, whatever the budget."""

MOST_CALLS = 100


def plan_repeats(rough_ms: float, budget_ms: float, sample_ms: float) -> tuple[int, int]:
    """Calls per sample, so that one lasts about `sample_ms`, and samples, within `budget_ms`."""
    calls = max(1, min(MOST_CALLS, round(sample_ms / rough_ms)))
    return calls, max(FEWEST, min(MOST, int(budget_ms / (rough_ms * calls))))


def time_within(
    call: Callable[[], object], device: str, budget_ms: float, sample_ms: float = 0.0
) -> Row:
    """The spread (ms, see statistics.summarise) of the time of one call.

    A call shorter than `sample_ms` is repeated within each sample, back to back, so that neither
    the clock's resolution nor the cost of reading it counts; a sample is then a mean of calls.
    """
    rough_ms = min(time_call(call, device, 2, 3)) / NS_PER_MS
    calls, samples = plan_repeats(rough_ms, budget_ms, sample_ms)

    def repeat() -> None:
        for _ in range(calls):
            call()

    taken = time_call(repeat, device, 1, samples)
    return spread([round(ns / calls) for ns in taken]) | {"calls_per_sample": calls}
