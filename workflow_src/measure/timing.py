"""Raw time samples of a call, in integer nanoseconds, after warm-up."""

import time
from collections.abc import Callable, Sequence

import torch

from workflow_src.common.units import NS_PER_MS
from workflow_src.measure.oom import Row

Call = Callable[[], object]
EventPair = tuple[torch.cuda.Event, torch.cuda.Event]

FEWEST, MOST = 5, 50
"""Bounds on the number of samples of a measurement, whatever its time budget."""

MOST_CALLS = 100
"""Maximum number of calls in one sample."""


def synchronize(device: str) -> None:
    """Wait until the device has finished all work launched."""
    if device == "cuda":
        torch.cuda.synchronize()


def time_steps(step: Call, wait: Call, steps: int) -> list[int]:
    """Wall-clock nanoseconds of each of `steps` calls; the device is idle before and after each."""
    samples = []
    for _ in range(steps):
        wait()
        start = time.perf_counter_ns()
        step()
        wait()
        samples.append(time.perf_counter_ns() - start)
    return samples


def event_pairs(count: int) -> list[EventPair]:
    """Pairs of CUDA events, made beforehand, so that making them delays no launch that is timed."""
    pairs = ([torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count))
    return [(start, end) for start, end in pairs]


def between_events(pair: EventPair, call: Call) -> None:
    """Run `call` between the two events of a pair."""
    start, end = pair
    start.record()
    call()
    end.record()


def elapsed_ns(pairs: Sequence[EventPair]) -> list[int]:
    """Nanoseconds between the two events of each pair; waits for the device first."""
    torch.cuda.synchronize()
    return [round(start.elapsed_time(end) * 1e6) for start, end in pairs]


def time_call(call: Call, device: str, warmup_steps: int, steps: int) -> list[int]:
    """Nanoseconds of each of `steps` calls, after `warmup_steps` that don't count.

    On a CUDA device, the time between two events around each call; on a CPU, wall-clock time.
    """
    for _ in range(warmup_steps):
        call()
    synchronize(device)
    if device != "cuda":
        return time_steps(call, lambda: None, steps)
    pairs = event_pairs(steps)
    for pair in pairs:
        between_events(pair, call)
    return elapsed_ns(pairs)


def plan_repeats(rough_ms: float, budget_ms: float, sample_ms: float) -> tuple[int, int]:
    """Calls per sample, for about `sample_ms` each, and number of samples, within `budget_ms`."""
    calls = max(1, min(MOST_CALLS, round(sample_ms / rough_ms)))
    return calls, max(FEWEST, min(MOST, int(budget_ms / (rough_ms * calls))))


def time_within(call: Call, device: str, budget_ms: float, sample_ms: float = 0.0) -> Row:
    """`samples_ns` of one call, as many as the budget allows, and `calls_per_sample`.

    A call shorter than `sample_ms` is repeated within each sample, back to back, so that neither
    the clock's resolution nor the cost of reading it matters; a sample is then a mean of calls.
    """
    rough_ms = min(time_call(call, device, 2, 3)) / NS_PER_MS
    calls, samples = plan_repeats(rough_ms, budget_ms, sample_ms)

    def repeat() -> None:
        for _ in range(calls):
            call()

    taken = time_call(repeat, device, 1, samples)
    return {"samples_ns": [round(ns / calls) for ns in taken], "calls_per_sample": calls}
