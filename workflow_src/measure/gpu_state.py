"""What a GPU's driver says of it at this moment: clocks, power, what limits them, and who uses it.

Imports no torch, so that a process that only reads starts at once.
"""

import os
from typing import Any

import pynvml

from workflow_src.common.devices import nvml
from workflow_src.common.environment import POWER_CAP

THROTTLES = {
    POWER_CAP: "nvmlClocksThrottleReasonSwPowerCap",
    "hardware slowdown": "nvmlClocksThrottleReasonHwSlowdown",
    "software thermal slowdown": "nvmlClocksThrottleReasonSwThermalSlowdown",
    "hardware thermal slowdown": "nvmlClocksThrottleReasonHwThermalSlowdown",
    "power brake": "nvmlClocksThrottleReasonHwPowerBrakeSlowdown",
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
        "throttle": _throttles(handle),
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


Reading = tuple[int | None, float | None, list[str]]
"""The SM clock (MHz), the power (W), and what limits the clock."""


def reading(device: str) -> Reading:
    """A reading of a CUDA device by UUID; what it doesn't report is None, or not in the list."""
    with nvml() as there:
        handle = _asked(pynvml.nvmlDeviceGetHandleByUUID, device) if there else None
        if handle is None:
            return None, None, []
        clock = _asked(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM)
        return clock, _power_w(handle), _throttles(handle)


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


def _throttles(handle: Any) -> list[str]:
    mask = _asked(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle) or 0
    return [name for name, bit in THROTTLES.items() if mask & getattr(pynvml, bit)]


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
