"""What a GPU's driver says: clocks, power, what limits them, and other processes on the device.

Before and after a measurement, and meanwhile by another process (this module as a program), which
delays no launch. Imports no torch, so that it starts at once.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from tempfile import TemporaryFile
from typing import Any

import pynvml

from workflow_src.common.devices import answer, cuda_devices, nvml, processes_on
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

LOOK_EVERY = 25
"""Every so many readings, once a second, have the device's processes."""

Reading = tuple[int, list[Any], list[int]]
"""When (CLOCK_MONOTONIC, ns); the SM clock (MHz), the power (W) and what limits the clock; ids of
the processes that use the device, of some readings."""

WINDOW = "window_ns"
"""The key of a row with the times (CLOCK_MONOTONIC, ns) between which its steps ran."""


def _throttles(handle: Any) -> list[str]:
    mask = int(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
    return [name for name, bit in THROTTLES.items() if mask & getattr(pynvml, bit)]


def _power_now(handle: Any) -> float | None:
    (field,) = pynvml.nvmlDeviceGetFieldValues(handle, [pynvml.NVML_FI_DEV_POWER_INSTANT])
    reports = field.nvmlReturn == pynvml.NVML_SUCCESS
    return float(field.value.uiVal / 1000) if reports else None


QUERIES: dict[str, Callable[[Any], Any]] = {
    "sm_clock_mhz": lambda gpu: pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM),
    "power_w": _power_now,
    "energy_mj": pynvml.nvmlDeviceGetTotalEnergyConsumption,
    "throttle": _throttles,
}
"""power_w is that of the moment."""


def asked(device: str, *names: str) -> Row:
    """The answers of a CUDA device by UUID to some of QUERIES; None to what it doesn't report."""
    with nvml():
        return {name: answer(QUERIES[name], device) for name in names}


def state(device: str) -> Row:
    """What limits a device's clock now, and its other processes; of a CPU, the load average."""
    if device == "cpu":
        return {"load_average": os.getloadavg()[0]}
    throttle = asked(device, "throttle")["throttle"] or []
    return {"throttle": throttle, "other_processes": len({*processes_on(device)} - {os.getpid()})}


@contextmanager
def watched(device: str, readings: list[Reading]) -> Iterator[None]:
    """Read a CUDA device meanwhile; at the end `readings` has what was read. Nothing of a CPU."""
    if device != "cuda":
        yield
        return
    parent = os.getpid()
    with TemporaryFile("w+") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "workflow_src.measure.gpu_state"],
            stdout=file,
            preexec_fn=lambda: end_with_parent(parent, signal.SIGTERM),
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait()
            file.seek(0)
            readings += [json.loads(line) for line in file if line.endswith("\n")]


def add_readings(rows: Iterable[Row], readings: list[Reading]) -> None:
    """Give each row clock, power and limits of the `readings` made while it ran."""
    for row in rows:
        start, end = row.pop(WINDOW, (0, 0))
        if found := [load for ns, load, _ in readings if start <= ns <= end]:
            row["readings"] = found


def neighbors(readings: list[Reading]) -> Row:
    """The number of other processes seen; empty without readings, as of a CPU."""
    seen = {process for _, _, processes in readings for process in processes}
    return {"other_processes": len(seen - {os.getpid()})} if readings else {}


def read() -> None:
    """Print a Reading of the first visible device every PERIOD_S, until ended."""
    (device, *_) = cuda_devices()
    with nvml():
        for number in count():
            moment = time.monotonic_ns()
            found = asked(device, "sm_clock_mhz", "power_w", "throttle")
            load = [found["sm_clock_mhz"], found["power_w"], found["throttle"] or []]
            processes = processes_on(device) if number % LOOK_EVERY == 0 else []
            print(json.dumps([moment, load, processes]), flush=True)
            time.sleep(PERIOD_S)


if __name__ == "__main__":
    read()
