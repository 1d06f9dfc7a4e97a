"""A limit on the memory that a measurement may take, so that running out of it is a result.

On a CUDA device, torch's allocator keeps to it. On a CPU, the kernel does: RLIMIT_DATA counts
what a process has mapped to write to, as VmData does, and lets no more of it be mapped. RLIMIT_AS
would also count address space that is only reserved, such as each thread's heap.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from workflow_src.common.errors import StageError
from workflow_src.common.units import GIB, MIB

USABLE = 0.95
"""Share of the available memory that a measurement may take; the rest is for other processes."""

RUNTIME_BYTES = 128 * MIB
"""What torch and its libraries take besides tensors, once a model is built and trained (95 MiB)."""

POOL_ELEMENTS = 2**20
"""Enough elements for torch to add them up with all of its threads."""


@contextmanager
def limited_memory(device: str, limit_gib: float | None) -> Iterator[None]:
    """Limit what is allocated inside to `limit_gib` GiB.

    On a CPU that is beyond what the process already has and RUNTIME_BYTES. None means all of a CUDA
    device's memory, or most of what a CPU has available now, so that the kernel has no reason to
    kill this process. Raises StageError if there is less than the limit.
    """
    if device == "cuda":
        _cap_cuda(limit_gib)
        yield
        return
    torch.ones(POOL_ELEMENTS).sum()
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _own_data_bytes() + _allowed_bytes(limit_gib)
    least = min(limit for limit in (soft, wanted) if limit != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (least, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _cap_cuda(limit_gib: float | None) -> None:
    if limit_gib is None:
        return
    total = torch.cuda.get_device_properties(0).total_memory
    _require(limit_gib, total, "the device has")
    torch.cuda.set_per_process_memory_fraction(limit_gib * GIB / total)


def _allowed_bytes(limit_gib: float | None) -> int:
    available = available_bytes()
    if limit_gib is None:
        return int(USABLE * available)
    _require(limit_gib, available, "is available now")
    return RUNTIME_BYTES + int(limit_gib * GIB)


def _require(limit_gib: float, there: int, where: str) -> None:
    if limit_gib * GIB > there:
        raise StageError(
            f"memory_limit_gib: {limit_gib:g} is more than {where} ({there / GIB:.1f} GiB)"
        )


def _own_data_bytes() -> int:
    return _kib(Path("/proc/self/status"), "VmData") * 1024


def _kib(file: Path, key: str) -> int:
    lines = file.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))


def available_bytes(root: Path = Path("/")) -> int:
    """Bytes that can be allocated now without swapping and within every control group's limit.

    `root` is the folder that contains proc and sys.
    """
    free = _kib(root / "proc/meminfo", "MemAvailable") * 1024
    return max(0, min([free, *_left_in_control_groups(root)]))


V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
V2 = ("memory.max", "memory.current", "inactive_file")
"""Files with the limit and the use of a control group, and what of the use is cache, by version."""


def _left_in_control_groups(root: Path) -> Iterator[int]:
    mount = root / "sys/fs/cgroup"
    for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top, files = (mount / "memory", V1) if controllers else (mount, V2)
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(top) and (folder / files[0]).is_file():
                yield from _left_in(folder, *files)


def _left_in(folder: Path, limit: str, used: str, cache: str) -> Iterator[int]:
    allowed = (folder / limit).read_text(encoding="utf-8").strip()
    if allowed == "max":
        return
    counts = dict(
        line.split() for line in (folder / "memory.stat").read_text(encoding="utf-8").splitlines()
    )
    yield int(allowed) - int((folder / used).read_text(encoding="utf-8")) + int(counts[cache])
