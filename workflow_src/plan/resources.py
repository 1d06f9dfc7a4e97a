"""What a measuring job asks of a cluster besides its GPU: memory and time, by the case."""

import math

from workflow_src.common.case import PHASES, Case
from workflow_src.common.units import MIB
from workflow_src.model.flops import (
    backward_flops,
    forward_work,
    parameter_count,
    total_forward_flops,
)

FIXED_MIB = {"cpu": 2048, "cuda": 8192}
"""Python with torch, and on CUDA the host's side of a context and of a profiler's buffers."""

BYTES_PER_PARAMETER = 16
"""A float32 weight, its gradient and AdamW's two moments."""

FIXED_MINUTES = 10
"""Importing torch, building the model and writing the capture, with room for a busy file system."""

FLOPS_PER_S = {"cpu": 5e9, "cuda": 2e12}
"""Rates that any machine worth a cluster's name exceeds: a bound, not a forecast."""


def memory_mib(case: Case) -> int:
    """Host memory (MiB) that measuring a case may take.

    On a CUDA device model and activations live on it, and the host's part does not grow. On a
    CPU: weights, gradients and moments, and at most what a forward pass writes is kept for the
    backward pass, of which `forward_work` counts the bytes.
    """
    if case.device == "cuda":
        return FIXED_MIB["cuda"]
    activations = sum(work.bytes for work in forward_work(case))
    kept = BYTES_PER_PARAMETER * parameter_count(case) + activations
    return FIXED_MIB["cpu"] + math.ceil(kept / MIB)


def minutes(case: Case, steps: int) -> int:
    """Time (minutes) that `steps` steps of each phase of a case may take."""
    forward, backward = total_forward_flops(case), backward_flops(case)
    flops = steps * (len(PHASES) * forward + (len(PHASES) - 1) * backward)
    return FIXED_MINUTES + math.ceil(flops / FLOPS_PER_S[case.device] / 60)
