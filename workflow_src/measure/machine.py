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
