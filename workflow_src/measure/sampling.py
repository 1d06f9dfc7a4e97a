"""Samples of a ceiling: of a call again and again, or in bursts with pauses."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from workflow_src.common.ceilings import FEWEST
from workflow_src.common.errors import UnavailableError
from workflow_src.measure.gpu_state import asked
from workflow_src.measure.rows import Row, attempt, free, said
from workflow_src.measure.timing import (
    Call,
    between_events,
    elapsed_ns,
    event_pairs,
    repeated,
    time_steps,
)

Sizes = Mapping[str, Any]
"""The sizes of a device: see common.ceilings."""

GROUP = 5
"""Samples between two readings of the clock."""


def measured(
    about: Row, make: Callable[[], Call], device: str, sizes: Sizes, pause_ms: float = 0.0
) -> Row:
    """A row `about` a ceiling with samples of the call that `make` builds, or with why it can't."""
    free(device)
    try:
        row = attempt(lambda: sampled(make(), device, sizes, pause_ms), partial(free, device))
    except UnavailableError as error:
        row = {"status": "skipped", "reason": str(error)}
    name = " ".join(str(about[key]) for key in ("precision", "name", "shape", "layout")).strip()
    return about | said(name, row)


def sampled(call: Call, device: str, sizes: Sizes, pause_ms: float = 0.0) -> Row:
    """`samples_ns` of one call, `calls_per_sample` and `samples_per_group`.

    As many samples as the budget allows, and FEWEST at least; with a pause, during which the device
    is idle before each sample, FEWEST. On a CUDA device also `sm_clock_mhz`, a reading per group of
    samples, taken while the device works on the group. Not the power: NVML's lags behind by more
    than a row lasts.
    """
    repeat, calls, count = repeated(call, device, sizes["budget_ms"], sizes["sample_ms"])
    size, count = (1, FEWEST) if pause_ms else (GROUP, max(FEWEST, count))
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
    pairs = event_pairs(count)
    # Not timed: on an idle device, the first sample would contain the latency of its launch.
    call()
    for pair in pairs:
        between_events(pair, call)
    uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}"
    clock = asked(uuid, ("sm_clock_mhz",))["sm_clock_mhz"]
    return elapsed_ns(pairs), clock
