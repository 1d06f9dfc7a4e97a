"""What a GPU's driver says: clocks, power, what limits them, and other processes on the device.

Before and after a measurement, between its timed regions, and while it works, by another process
(this module as a program), which delays no launch. Imports no torch, so that it starts at once.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pynvml

from workflow_src.common.devices import cuda_devices, nvml, processes_on
from workflow_src.common.environment import POWER_CAP
from workflow_src.common.subprocesses import end_with_parent

Row = dict[str, Any]

THROTTLES = {
    POWER_CAP: "nvmlClocksThrottleReasonSwPowerCap",
    "hardware slowdown": "nvmlClocksThrottleReasonHwSlowdown",
    "software thermal slowdown": "nvmlClocksThrottleReasonSwThermalSlowdown",
    "hardware thermal slowdown": "nvmlClocksThrottleReasonHwThermalSlowdown",
    "power brake": "nvmlClocksThrottleReasonHwPowerBrakeSlowdown",
}

PERIOD_S = 0.04
"""NVML's answers take a millisecond or so, and change about as often as this."""

WINDOW = "window_ns"
"""The key of a row with the times (CLOCK_MONOTONIC, ns) between which its steps ran."""


def _mask(handle: Any) -> int:
    return int(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))


def _throttles(mask: int) -> list[str]:
    return [name for name, bit in THROTTLES.items() if mask & getattr(pynvml, bit)]


def _power_now(handle: Any) -> float | None:
    (field,) = pynvml.nvmlDeviceGetFieldValues(handle, [pynvml.NVML_FI_DEV_POWER_INSTANT])
    reports = field.nvmlReturn == pynvml.NVML_SUCCESS
    return float(field.value.uiVal / 1000) if reports else None


QUERIES: dict[str, Callable[[Any], Any]] = {
    "sm_clock_mhz": lambda gpu: pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM),
    "memory_clock_mhz": lambda gpu: pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_MEM),
    "temperature_c": lambda gpu: pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU),
    "average_power_w": lambda gpu: pynvml.nvmlDeviceGetPowerUsage(gpu) / 1000,
    "power_w": _power_now,
    "power_limit_w": lambda gpu: pynvml.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1000,
    "power_capped": lambda gpu: bool(_mask(gpu) & pynvml.nvmlClocksThrottleReasonSwPowerCap),
    "throttle": lambda gpu: _throttles(_mask(gpu)),
    "processes": pynvml.nvmlDeviceGetComputeRunningProcesses,
}
"""What can be asked of a device. power_w is that of the moment, and the other a second's mean."""

LOAD = ("sm_clock_mhz", "power_w", "power_limit_w", "power_capped")
"""Of a device that works: its clock, its power, the limit of it, and whether that lowers the
clock."""


def asked(device: str, names: tuple[str, ...]) -> Row:
    """The answers of a CUDA device by UUID to some of QUERIES; None to what it doesn't report."""
    found: Row = dict.fromkeys(names)
    with nvml() as there:
        handle = _answer(pynvml.nvmlDeviceGetHandleByUUID, device) if there else None
        if handle is not None:
            found = {name: _answer(QUERIES[name], handle) for name in names}
    return found


def _answer(query: Callable[[Any], Any], given: Any) -> Any:
    try:
        return query(given)
    except pynvml.NVMLError:
        return None


def state(device: str) -> Row:
    """Current clocks, temperature, power, throttle reasons and number of other processes.

    Values that the device doesn't report are left out; for a CPU, only the load average.
    """
    with nvml() as there:
        if not there or device == "cpu":
            return {"load_average": os.getloadavg()[0]}
        names = ("sm_clock_mhz", "memory_clock_mhz", "temperature_c", "average_power_w")
        found = asked(device, (*names, "throttle", "processes"))
    found["power_w"] = found.pop("average_power_w")
    found["throttle"] = found["throttle"] or []
    others = [each for each in found.pop("processes") or [] if each.pid != os.getpid()]
    found["other_processes"] = len(others)
    return {key: value for key, value in found.items() if value is not None}


class Neighbors:
    """The processes seen on a device since this was made, at each look; none on a CPU.

    NVML is only asked between timed regions: it keeps for a while which processes kept the device
    busy. Not every device does so; then only processes that exist during a look are seen.
    """

    def __init__(self, device: str) -> None:
        """`device` is "cpu" or the UUID of a CUDA device."""
        self._device = device
        self._since_us = int(time.time() * 1e6)
        self._seen: set[int] = set()

    def look(self) -> None:
        """Note the processes there are now, and those that used the device since the last look."""
        if self._device != "cpu":
            since_us, self._since_us = self._since_us, int(time.time() * 1e6)
            self._seen |= {*processes_on(self._device), *_busy_since(self._device, since_us)}

    def state(self) -> dict[str, int]:
        """The number of other processes seen so far; empty for a CPU."""
        others = self._seen - {os.getpid()}
        return {} if self._device == "cpu" else {"other_processes": len(others)}


def _busy_since(device: str, since_us: int) -> list[int]:
    """Ids of the processes that used a CUDA device since a time; empty if NVML can't tell."""

    def used(uuid: str) -> Any:
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        return pynvml.nvmlDeviceGetProcessUtilization(handle, since_us)

    with nvml() as there:
        samples = (_answer(used, device) if there else None) or []
    return [sample.pid for sample in samples if sample.timeStamp >= since_us]


def timed(measure: Callable[[], Row]) -> Row:
    """The row of `measure`, with when it ran."""
    start = time.monotonic_ns()
    row = measure()
    return row | {WINDOW: [start, time.monotonic_ns()]}


@contextmanager
def watched(device: str) -> Iterator[list[list[Any]]]:
    """Read a CUDA device meanwhile; the yielded list is filled at the end. None for a CPU."""
    readings: list[list[Any]] = []
    if device != "cuda":
        yield readings
        return
    parent = os.getpid()
    with TemporaryDirectory() as folder, Path(folder, "readings").open("w+") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "workflow_src.measure.gpu_state"],
            stdout=file,
            preexec_fn=lambda: end_with_parent(parent, signal.SIGTERM),
        )
        try:
            yield readings
        finally:
            process.terminate()
            process.wait()
            file.seek(0)
            readings += [json.loads(line) for line in file if line.endswith("\n")]


def add_readings(rows: dict[str, Row], readings: list[list[Any]]) -> None:
    """Give each row the `readings` made while it ran, without their times."""
    for row in rows.values():
        start, end = row.pop(WINDOW, (0, 0))
        if found := [values for ns, *values in readings if start <= ns <= end]:
            row["readings"] = found


def read() -> None:
    """Print a reading of the first visible device every PERIOD_S, until this process is ended.

    A line is a JSON list: the time (CLOCK_MONOTONIC, ns), the SM clock (MHz), the power (W), and
    what limits the clock.
    """
    (device, *_) = cuda_devices()
    with nvml():
        while True:
            moment = time.monotonic_ns()
            found = asked(device, ("sm_clock_mhz", "power_w", "throttle"))
            throttle = found.pop("throttle") or []
            print(json.dumps([moment, *found.values(), throttle]), flush=True)
            time.sleep(PERIOD_S)


if __name__ == "__main__":
    read()
