"""The hardware and software of a result, and how fast its host launches work.

Launch-bound times depend on the host as much as on the model.
"""

import hashlib
import os
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import pynvml
import torch

from workflow_src.common.devices import nvml
from workflow_src.common.environment import cpu_model
from workflow_src.common.units import GIB, NS_PER_US
from workflow_src.measure.timing import Call, synchronize

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
SALT = "transformer-step-time host"

OPERATIONS, REPEATS = 200, 25
"""Operations of the chain that tells a host's speed, and how often it is timed."""


def use_threads(row: Mapping[str, Any]) -> None:
    """Let torch compute with the `cpu_threads` of a plan row or point, if it has any.

    Snakemake caps OMP_NUM_THREADS at --cores, which would otherwise be part of the result.
    """
    if row.get("cpu_threads"):
        torch.set_num_threads(row["cpu_threads"])


def environment(device: str) -> dict[str, Any]:
    """The CPU, the GPU if that is measured, versions, and torch's CPU threads.

    `device` is "cpu" or the UUID of a CUDA device.
    """
    found: dict[str, Any] = {"cpu": cpu_model(), "cpu_cores": os.cpu_count(), "gpu": ""}
    with nvml() as there:
        if there and device != "cpu":
            handle = pynvml.nvmlDeviceGetHandleByUUID(device)
            found["gpu"] = str(pynvml.nvmlDeviceGetName(handle))
            found["gpu_memory_gib"] = pynvml.nvmlDeviceGetMemoryInfo(handle).total / GIB
            found["driver"] = str(pynvml.nvmlSystemGetDriverVersion())
    return found | {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda or "",
        "cpu_threads": torch.get_num_threads(),
    }


def host_id() -> str:
    """8 hex digits that differ from host to host and from boot to boot; may be published.

    A salted hash of the boot's random id, which can't be found from it; "" if there is none.
    """
    if not BOOT_ID.is_file():
        return ""
    return hashlib.sha256(f"{SALT}\n{BOOT_ID.read_text().strip()}".encode()).hexdigest()[:8]


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

    def launches() -> None:
        for _ in range(OPERATIONS):
            torch.cuda._sleep(0)

    found = {"host_operation_us": _us_per_operation(chain, device)}
    if device == "cuda":
        found["host_launch_us"] = _us_per_operation(launches, device)
    return found


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
