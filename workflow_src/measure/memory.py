"""Memory: allocated before a task, peak of a call, and kept by autograd."""

import resource
from collections.abc import Callable

import torch
from torch import Tensor, UntypedStorage

from workflow_src.common.units import MIB
from workflow_src.measure.timing import synchronize


def peak_memory_mib(device: str) -> float:
    """Peak memory (MiB) so far: allocated on the CUDA device, or resident for the CPU process."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / MIB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory_before_mib(device: str) -> float:
    """Memory (MiB) that any peak measured from now on includes: see peak_memory_mib."""
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


def kept_mib(forward: Callable[[], Tensor]) -> float:
    """Memory (MiB) that autograd keeps of a forward pass for backward, inputs included."""
    kept: dict[int, UntypedStorage] = {}

    def note(tensor: Tensor) -> None:
        # Returning an output to its own graph would create a reference cycle that is never freed.
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage

    with torch.autograd.graph.saved_tensors_hooks(note, lambda unused: unused):
        forward()
    return sum(storage.nbytes() for storage in kept.values()) / MIB
