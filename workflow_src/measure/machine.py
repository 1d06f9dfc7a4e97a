"""The hardware and software that a result was measured on; stored with each result."""

import hashlib
import os
import platform
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pynvml
import torch

from workflow_src.common.devices import nvml
from workflow_src.common.environment import cpu_model

THROTTLES = {
    "power cap": "nvmlClocksThrottleReasonSwPowerCap",
    "hardware slowdown": "nvmlClocksThrottleReasonHwSlowdown",
    "software thermal slowdown": "nvmlClocksThrottleReasonSwThermalSlowdown",
    "hardware thermal slowdown": "nvmlClocksThrottleReasonHwThermalSlowdown",
    "power brake": "nvmlClocksThrottleReasonHwPowerBrakeSlowdown",
}

MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
SALT = "transformer-step-time host"


def use_threads(row: Mapping[str, Any]) -> None:
    """Let torch compute with the `cpu_threads` of a plan row or point, if it has any.

    Snakemake caps OMP_NUM_THREADS at --cores, which would otherwise be part of the result.
    """
    if row.get("cpu_threads"):
        torch.set_num_threads(row["cpu_threads"])


def software() -> dict[str, Any]:
    """Versions of Python, torch and CUDA, and the number of CPU threads that torch uses."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda or "",
        "cpu_threads": torch.get_num_threads(),
    }


def hardware(device: str) -> dict[str, Any]:
    """The CPU, and the GPU if that is measured. `device` is "cpu" or the UUID of a CUDA device."""
    found: dict[str, Any] = {"cpu": cpu_model(), "cpu_cores": os.cpu_count(), "gpu": ""}
    with nvml() as there:
        if not there or device == "cpu":
            return found
        handle = pynvml.nvmlDeviceGetHandleByUUID(device)
        return found | {
            "gpu": str(pynvml.nvmlDeviceGetName(handle)),
            "gpu_memory_gib": pynvml.nvmlDeviceGetMemoryInfo(handle).total / 2**30,
            "driver": str(pynvml.nvmlSystemGetDriverVersion()),
        }


def state(device: str) -> dict[str, Any]:
    """Current clocks, temperature, power, throttle reasons and number of other processes.

    Values that the device doesn't report are left out; for a CPU, only the load average.
    """
    with nvml() as there:
        if not there or device == "cpu":
            return {"load_average": os.getloadavg()[0]}
        handle = pynvml.nvmlDeviceGetHandleByUUID(device)
        return _gpu_state(handle)


def _gpu_state(handle: Any) -> dict[str, Any]:
    mask = _asked(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle) or 0
    own = os.getpid()
    processes = _asked(pynvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
    power_mw = _asked(pynvml.nvmlDeviceGetPowerUsage, handle)
    readings = {
        "sm_clock_mhz": _asked(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM),
        "memory_clock_mhz": _asked(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_MEM),
        "temperature_c": _asked(
            pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU
        ),
        "power_w": None if power_mw is None else power_mw / 1000,
        "throttle": [name for name, bit in THROTTLES.items() if mask & getattr(pynvml, bit)],
        "other_processes": len([p for p in processes if p.pid != own]),
    }
    return {key: value for key, value in readings.items() if value is not None}


def sm_clock_mhz(device: str) -> int | None:
    """The SM clock of a CUDA device by UUID, at this moment; None if it doesn't report one."""
    with nvml() as there:
        handle = _asked(pynvml.nvmlDeviceGetHandleByUUID, device) if there else None
        if handle is None:
            return None
        clock: int | None = _asked(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM)
        return clock


LOAD = ("sm_clock_mhz", "power_w", "power_limit_w", "power_capped")
"""What `load` reads."""


def load(device: str) -> dict[str, float | bool | None]:
    """A CUDA device's SM clock, power and its limit now, and whether that lowers the clock.

    Each is None if the device doesn't report it. The power is that of the moment, which an average
    over a second, as in `state`, is not.
    """
    with nvml() as there:
        handle = _asked(pynvml.nvmlDeviceGetHandleByUUID, device) if there else None
        if handle is None:
            return dict.fromkeys(LOAD)
        mask = _asked(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
        limit_mw = _asked(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle)
        cap = pynvml.nvmlClocksThrottleReasonSwPowerCap
        return {
            "sm_clock_mhz": _asked(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM),
            "power_w": _power_w(handle),
            "power_limit_w": None if limit_mw is None else limit_mw / 1000,
            "power_capped": None if mask is None else bool(mask & cap),
        }


def _power_w(handle: Any) -> float | None:
    fields = _asked(pynvml.nvmlDeviceGetFieldValues, handle, [pynvml.NVML_FI_DEV_POWER_INSTANT])
    if not fields or fields[0].nvmlReturn != pynvml.NVML_SUCCESS:
        return None
    return float(fields[0].value.uiVal / 1000)


def _asked(query: Any, *arguments: Any) -> Any:
    """NVML's answer, or None if the device doesn't support the query."""
    try:
        return query(*arguments)
    except pynvml.NVMLError:
        return None


def now() -> str:
    """The current time in UTC, ISO 8601 with microseconds."""
    return datetime.now(UTC).isoformat()


def node() -> str:
    """The host name of this machine; kept with results, never published."""
    return socket.gethostname()


def host_id() -> str:
    """8 hex digits that differ from host to host and from boot to boot; may be published.

    A salted hash of the machine's and the boot's id, neither of which can be found from it; "" if
    neither can be read.
    """
    machine = next(filter(None, map(_content, MACHINE_IDS)), b"")
    boot = _content(BOOT_ID)
    if not machine and not boot:
        return ""
    return hashlib.sha256(b"\n".join((SALT.encode(), machine, boot))).hexdigest()[:8]


def _content(path: Path) -> bytes:
    """What a file holds; nothing if it can't be read."""
    try:
        return path.read_bytes().strip()
    except OSError:
        return b""
