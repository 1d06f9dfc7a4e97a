"""The devices of this machine, with a lock for each: one measurement at a time per device.

Imports no torch: a device is made the only visible one before CUDA is initialized.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any

import pynvml

from workflow_src.common.device_locks import POLL_S, DeviceError, lock_folders, one_locked

IDLE_WAIT_S = 10.0


def _visible(uuids: list[str]) -> list[str]:
    """Those of `uuids` that CUDA_VISIBLE_DEVICES (indices or UUIDs) selects, in its order."""
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    if asked is None:
        return uuids
    chosen = [entry.strip() for entry in asked.split(",") if entry.strip()]
    by_index = {str(index): uuid for index, uuid in enumerate(uuids)}
    named = (by_index.get(entry, entry) for entry in chosen)
    return [next((u for u in uuids if u.startswith(name)), "") for name in named if name]


@contextmanager
def nvml() -> Iterator[bool]:
    """Initialize NVML for a while; yields False without an NVIDIA driver."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield False
        return
    try:
        yield True
    finally:
        pynvml.nvmlShutdown()


def cuda_devices() -> list[str]:
    """UUIDs of the CUDA devices that this process may use."""
    with nvml() as there:
        if not there:
            return []
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        uuids = [str(pynvml.nvmlDeviceGetUUID(handle)) for handle in handles]
    return [uuid for uuid in _visible(uuids) if uuid]


def _names(device: str) -> list[str]:
    if device == "cpu":
        return ["cpu"]
    names = cuda_devices()
    if not names:
        raise DeviceError("device: 'cuda' asked for, but no CUDA device is visible; allowed: cpu")
    return names


def require_lockable(device: str) -> None:
    """Raise DeviceError if a device of this kind isn't here or can't be locked."""
    _names(device)
    lock_folders()


SEVERAL = "several-devices"
"""The lock of those who lock several devices, so that no two wait for each other."""


@contextmanager
def hold(device: str, about: str = "", count: int = 1) -> Iterator[list[str]]:
    """Lock `count` devices of a kind ("cpu" or "cuda"), or as many as there are.

    Yields their names: "cpu" or UUIDs. CUDA devices become the only ones visible to this process
    and its children, once none of them is in use. Raises DeviceError if there is no such device,
    and see one_locked.
    """
    names = _names(device)
    with ExitStack() as locks:
        held: list[str] = []
        with one_locked([SEVERAL], about) if count > 1 else nullcontext():
            while len(held) < min(count, len(names)):
                free = [name for name in names if name not in held]
                held.append(locks.enter_context(one_locked(free, about)))
        if device == "cuda":
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(held)
            for name in held:
                _wait_until_idle(name)
        yield held


def answer(query: Callable[[Any], Any], uuid: str) -> Any:
    """What NVML answers of a CUDA device; None if nothing."""
    with nvml() as there, suppress(pynvml.NVMLError):
        return query(pynvml.nvmlDeviceGetHandleByUUID(uuid)) if there else None


def processes_on(uuid: str) -> list[int]:
    """Ids of the processes on a CUDA device; empty if NVML can't tell."""
    return [each.pid for each in answer(pynvml.nvmlDeviceGetComputeRunningProcesses, uuid) or ()]


def _wait_until_idle(uuid: str) -> None:
    """Wait for the previous holder to exit: its CUDA context outlives its lock.

    A process that remains after IDLE_WAIT_S isn't of this workflow; the result records it.
    """
    deadline = time.monotonic() + IDLE_WAIT_S
    while processes_on(uuid) and time.monotonic() < deadline:
        time.sleep(POLL_S)
