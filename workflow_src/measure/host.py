"""How fast this host launches work, on which launch-bound times depend as much as on the model."""

import time
from statistics import median

import torch

from workflow_src.common.units import NS_PER_US
from workflow_src.measure.timing import Call, synchronize

OPERATIONS = 200
REPEATS = 25


@torch.no_grad()
def host_speed(device: str) -> dict[str, float]:
    """Microseconds per operation of a fixed eager chain on one element.

    On a CUDA device also per launch of a kernel that does nothing. `device` is "cpu" or "cuda".
    """
    one = torch.ones(1, device=device)

    def chain() -> None:
        value = one
        for _ in range(OPERATIONS // 2):
            value = (value + one) * one

    found = {"host_operation_us": _us_per_operation(chain, device)}
    if device == "cuda":
        found["host_launch_us"] = _us_per_operation(_launches, device)
    return found


def _launches() -> None:
    for _ in range(OPERATIONS):
        torch.cuda._sleep(0)


def _us_per_operation(call: Call, device: str) -> float:
    call()
    samples = []
    for _ in range(REPEATS):
        synchronize(device)
        start = time.perf_counter_ns()
        call()
        samples.append(time.perf_counter_ns() - start)
    synchronize(device)
    return median(samples) / OPERATIONS / NS_PER_US
