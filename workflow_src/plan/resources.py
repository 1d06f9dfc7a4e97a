"""Memory and time that a measuring job requests from a cluster, by case."""

import math
from collections.abc import Mapping

from workflow_src.common.case import PHASES, AnyCase, Brought
from workflow_src.common.units import MIB
from workflow_src.model.flops import (
    backward_flops,
    forward_work,
    parameter_count,
    total_forward_flops,
)

FIXED_MIB = {"cpu": 2048, "cuda": 8192}
"""Python with torch; on CUDA also the host memory of a context and of a profiler's buffers."""

BYTES_PER_PARAMETER = 16
"""A float32 weight, its gradient and AdamW's two moments."""

FIXED_MINUTES = 10
"""Importing torch, building the model and writing the capture, with room for a busy file system."""

BEFORE_REPLAY = 4
"""Steps before a CUDA graph is replayed: on a side stream, and while it is captured."""

PROFILED = 2
"""Steps under torch.profiler after those that are timed: one settles, one is recorded."""

FLOPS_PER_S = {"cpu": 5e9, "cuda": 2e12}
"""Rates that any cluster machine exceeds: lower bounds, not forecasts."""


UNKNOWN_MIB = 16384
UNKNOWN_MINUTES = 60
"""What a brought model is given, of which no formula tells; a second attempt gets twice as much."""


def memory_mib(case: AnyCase) -> int:
    """Upper bound (MiB) of the host memory that measuring a case takes.

    With a CUDA device, model and activations are in its memory, and host memory is constant. On
    a CPU: weights, gradients and moments, plus the bytes that `forward_work` counts, which bound
    what a forward pass keeps for the backward pass.
    """
    if case.device == "cuda":
        return FIXED_MIB["cuda"]
    if isinstance(case, Brought):
        return UNKNOWN_MIB
    activations = sum(work.bytes for work in forward_work(case))
    kept = BYTES_PER_PARAMETER * parameter_count(case) + activations
    return FIXED_MIB["cpu"] + math.ceil(kept / MIB)


def case_steps(settings: Mapping[str, int], device: str) -> int:
    """Upper bound of the steps of each phase in a benchmark or a capture of a case.

    On a CUDA device each process of a benchmark also replays them as a graph.
    """
    warmup = max(settings["warmup_steps"], 1)
    timed = warmup + settings["steps"]
    replayed = BEFORE_REPLAY + timed if device == "cuda" else 0
    benchmark = settings["processes"] * (timed + replayed) + PROFILED
    return max(benchmark, warmup + PROFILED + settings["capture_steps"])


def minutes(case: AnyCase, steps: int) -> int:
    """Upper bound (minutes) of the time that `steps` steps of each phase of a case take."""
    if isinstance(case, Brought):
        return UNKNOWN_MINUTES
    forward, backward = total_forward_flops(case), backward_flops(case)
    flops = steps * (len(PHASES) * forward + (len(PHASES) - 1) * backward)
    return FIXED_MINUTES + math.ceil(flops / FLOPS_PER_S[case.device] / 60)
