"""Other processes that use a CUDA device while it is measured."""

import os
import time

import pynvml

from workflow_src.common.devices import nvml, processes_on


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


def _busy_since(uuid: str, since_us: int) -> list[int]:
    """Ids of the processes that used a CUDA device since a time; empty if NVML can't tell."""
    with nvml() as there:
        if not there:
            return []
        try:
            handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
            samples = pynvml.nvmlDeviceGetProcessUtilization(handle, since_us)
        except pynvml.NVMLError:
            return []
        return [sample.pid for sample in samples if sample.timeStamp >= since_us]
