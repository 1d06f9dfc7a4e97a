"""Memory: a limit to what a measurement takes, and peaks."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import torch

from workflow_src.common.errors import StageError
from workflow_src.common.own_memory import at_most_bytes, available_bytes
from workflow_src.common.units import GIB, MIB
from workflow_src.measure.timing import synchronize

USABLE = 0.95
"""Share of the available memory that a measurement may take; the rest is for other processes."""

RUNTIME_BYTES = 128 * MIB
"""What torch and its libraries take besides tensors, once a model is built and trained (95 MiB)."""

POOL_ELEMENTS = 2**20
"""Enough elements for torch to add them up with all of its threads."""


@contextmanager
def limited_memory(device: str, limit_gib: float | None) -> Iterator[None]:
    """Limit what is allocated inside to `limit_gib` GiB, so that running out of it is a result.

    On a CUDA device torch's allocator keeps to it, also afterwards; None means all of its memory.
    On a CPU the kernel does, beyond what the process already has and RUNTIME_BYTES; None means
    USABLE of what is available now, so that the kernel has no reason to kill this process. Raises
    StageError if there is less than the limit.
    """
    if device == "cuda":
        there, where = torch.cuda.get_device_properties(0).total_memory, "the device has"
    else:
        torch.ones(POOL_ELEMENTS).sum()
        there, where = available_bytes(), "is available now"
    wanted = (limit_gib or 0) * GIB
    if wanted > there:
        has = f"{where} ({there / GIB:.1f} GiB)"
        raise StageError(f"memory_limit_gib: {limit_gib:g} is more than {has}")
    if device == "cuda" and wanted:
        torch.cuda.set_per_process_memory_fraction(wanted / there)
    most = int(RUNTIME_BYTES + wanted if wanted else USABLE * there)
    with nullcontext() if device == "cuda" else at_most_bytes(most):
        yield


def peak_memory_mib(device: str) -> float:
    """Peak memory (MiB) so far: allocated on the CUDA device, or resident of the process."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / MIB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory_before_mib(device: str) -> float:
    """Memory (MiB) that any later peak_memory_mib includes."""
    return torch.cuda.memory_allocated() / MIB if device == "cuda" else peak_memory_mib(device)


def reset_peak(device: str) -> None:
    """Restart peak_memory_mib from now. A CPU's peak always covers the process's lifetime."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()


def allocated_before(device: str, dtype: torch.dtype) -> int:
    """Bytes allocated on a CUDA device before a task, including cuBLAS workspaces; 0 on a CPU.

    The first matrix product of each thread, autograd's included, permanently allocates a workspace
    of tens of MiB, which would otherwise count as memory of whichever task ran first.
    """
    if device != "cuda":
        return 0
    a = torch.ones(16, 16, device=device, dtype=dtype, requires_grad=True)
    torch.autograd.grad((a @ a).sum(), a)
    return torch.cuda.memory_allocated() - a.untyped_storage().nbytes()


def peak_mib(call: Callable[[], object], device: str, before_bytes: int) -> float | None:
    """Peak memory (MiB) allocated by torch during `call`, minus `before_bytes`; None on a CPU."""
    if device != "cuda":
        return None
    synchronize(device)
    reset_peak(device)
    call()
    return peak_memory_mib(device) - before_bytes / MIB
