"""Raw time samples of a call, in integer nanoseconds, after warm-up.

A call whose inputs and outputs fit in the L2 cache would find them there at every repeat, so calls
go in rotation over several sets of buffers.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle

import torch

from workflow_src.common.units import NS_PER_MS
from workflow_src.measure.gpu_state import asked
from workflow_src.measure.rows import Row

Call = Callable[[], object]

FEWEST, MOST = 5, 50
"""Bounds on the samples of a measurement, whatever its budget."""

MOST_CALLS = 100
"""Calls in one sample."""

GROUP = 5
"""Samples between two readings of the clock."""

SHORTEST_MS = 1e-6
"""A call takes at least this long, even where the clock doesn't tell."""


def synchronize(device: str) -> None:
    """Wait until the device has finished all work launched."""
    if device == "cuda":
        torch.cuda.synchronize()


def run_through(call: Call, device: str) -> None:
    """Run `call` and wait for what it launched."""
    call()
    synchronize(device)


def several(call: Call, times: int) -> Call:
    """A call that runs another so often, back to back."""

    def run() -> None:
        for _ in range(times):
            call()

    return run


def wake(call: Call, device: str, seconds: float) -> None:
    """Keep a CUDA device busy with `call` for `seconds`, so that its clocks rise from idle."""
    end = time.monotonic() + seconds
    while device == "cuda" and time.monotonic() < end:
        run_through(call, device)


def time_steps(step: Call, wait: Call, steps: int) -> list[int]:
    """Wall-clock nanoseconds of each step; the device is idle before and after it."""
    samples = []
    for _ in range(steps):
        wait()
        start = time.perf_counter_ns()
        step()
        wait()
        samples.append(time.perf_counter_ns() - start)
    return samples


def between_events(call: Call, count: int) -> Callable[[], list[int]]:
    """Launch `call` so often between CUDA events; what is returned waits, and has nanoseconds."""
    # Made beforehand, so that making them delays no launch that is timed.
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    for start, end in pairs:
        start.record()
        call()
        end.record()

    def elapsed_ns() -> list[int]:
        torch.cuda.synchronize()
        return [round(start.elapsed_time(end) * 1e6) for start, end in pairs]

    return elapsed_ns


def sample_steps(step: Call, device: str, warmup_steps: int, steps: int) -> Row:
    """Warm up, then time `steps` calls one by one: raw wall-clock samples (ns)."""
    for _ in range(warmup_steps):
        step()
    return {"samples_ns": time_steps(step, partial(synchronize, device), steps)}


def time_call(call: Call, device: str, warmup_steps: int, steps: int) -> list[int]:
    """Nanoseconds of each of `steps` calls, after a warm-up.

    On a CUDA device between two events around each call; on a CPU, wall-clock time.
    """
    for _ in range(warmup_steps):
        call()
    synchronize(device)
    if device != "cuda":
        return time_steps(call, lambda: None, steps)
    return between_events(call, steps)()


def plan_repeats(rough_ms: float, budget_ms: float, sample_ms: float) -> tuple[int, int]:
    """Calls per sample, for about `sample_ms` each, and number of samples, within `budget_ms`."""
    calls = max(1, min(MOST_CALLS, round(sample_ms / rough_ms)))
    return calls, max(FEWEST, min(MOST, int(budget_ms / (rough_ms * calls))))


def repeated(call: Call, device: str, budget_ms: float, sample_ms: float) -> tuple[Call, int, int]:
    """What to time in place of `call`, how many calls that is, and how many samples to take.

    A call shorter than `sample_ms` is repeated within each sample, so that neither the clock's
    resolution nor the cost of reading it matters.
    """
    rough_ms = max(min(time_call(call, device, 2, 3)) / NS_PER_MS, SHORTEST_MS)
    calls, samples = plan_repeats(rough_ms, budget_ms, sample_ms)
    return several(call, calls), calls, samples


def sampled(
    call: Call, device: str, fewest: int, budget_ms: float, sample_ms: float, pause_ms: float
) -> Row:
    """`samples_ns` of a ceiling's call, `calls_per_sample` and `samples_per_group`.

    As many samples as the budget allows, and `fewest` at least; with a pause before each, in which
    the device is idle, `fewest`. On a CUDA device also `sm_clock_mhz`, a reading per group of
    samples while the device works on it. Not the power: NVML's lags behind by more than a row
    lasts.
    """
    repeat, calls, count = repeated(call, device, budget_ms, sample_ms)
    size, count = (1, fewest) if pause_ms else (GROUP, max(fewest, count))
    samples: list[int] = []
    clocks: list[int | None] = []
    for start in range(0, count, size):
        time.sleep(pause_ms / 1e3)
        taken, clock = _group(repeat, device, min(size, count - start))
        samples += [round(ns / calls) for ns in taken]
        clocks.append(clock)
    found = {"samples_ns": samples, "calls_per_sample": calls, "samples_per_group": size}
    return found | ({"sm_clock_mhz": clocks} if any(clocks) else {})


def _group(call: Call, device: str, count: int) -> tuple[list[int], int | None]:
    """Nanoseconds of each of `count` calls, and the SM clock of a CUDA device meanwhile."""
    if device != "cuda":
        return time_steps(call, lambda: None, count), None
    # Not timed: on an idle device, the first sample would contain the latency of its launch.
    call()
    elapsed_ns = between_events(call, count)
    uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}"
    clock = asked(uuid, "sm_clock_mhz")["sm_clock_mhz"]
    return elapsed_ns(), clock


def l2_bytes(device: str) -> int:
    """The size of a CUDA device's L2 cache; 0 for a CPU, whose caches aren't evaded."""
    return int(torch.cuda.get_device_properties(0).L2_cache_size) if device == "cuda" else 0


def in_rotation(calls: Sequence[Call]) -> Call:
    """A call that runs the next of `calls` each time, each with buffers of its own.

    What each returned is kept until its next turn, so that no two get the same memory; each runs
    once here, so that memory is allocated before anything is timed.
    """
    if len(calls) == 1:
        return calls[0]
    turns, kept = cycle(range(len(calls))), [call() for call in calls]

    def run() -> object:
        turn = next(turns)
        kept[turn] = calls[turn]()
        return kept[turn]

    return run
