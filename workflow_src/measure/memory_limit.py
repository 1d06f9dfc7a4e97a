"""A limit on the memory that a measurement may take, so that running out of it is a result.

On a CUDA device, torch's allocator keeps to it. On a CPU, the kernel does (common/own_memory.py).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from workflow_src.common.errors import StageError
from workflow_src.common.own_memory import at_most_bytes, available_bytes
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
    with at_most_bytes(_allowed_bytes(limit_gib)):
        yield


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
