"""The columns that describe the environment of a measurement."""

import hashlib
import platform
from pathlib import Path

MEASURED_WITH = ("gpu", "cpu", "cpu_threads", "driver", "cuda", "torch")
"""What a study's rows were measured with; their profiler is torch's own."""

SAME_EVERYWHERE = (*MEASURED_WITH, "profiler_version")
"""What tells environments apart."""

PRIVATE = ("node", "device_name")
"""What identifies a machine: kept with results, never published."""

POWER_CAP = "power cap"
"""Limits the clock of a device that draws as much power as it may."""

HOST_SPEEDS = {"host_launch_us": "a launch", "host_operation_us": "an eager operation"}
"""What each is the time of."""


def gpu_id(uuid: str) -> str:
    """8 hex digits that differ from GPU to GPU, from which its UUID can't be found; "" of a CPU."""
    if not uuid or uuid == "cpu":
        return ""
    return hashlib.sha256(f"transformer-step-time GPU\n{uuid}".encode()).hexdigest()[:8]


def cpu_model() -> str:
    """The CPU's name as the kernel reports it, else the architecture."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if "model name" in line)
    return next(names, platform.machine())
