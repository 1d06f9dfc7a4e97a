"""Memory: what is held, what a call takes at its peak, and what autograd keeps of it."""

import resource
from collections.abc import Callable

import torch
from torch import Tensor, UntypedStorage

from workflow_src.common.units import MIB
from workflow_src.measure.timing import synchronize


def peak_memory_mib(device: str) -> float:
    """Most memory held so far: allocated on the CUDA device, or resident for the CPU process."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / MIB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory_before_mib(device: str) -> float:
    """Memory that a peak measured from now on holds already: see peak_memory_mib."""
    return torch.cuda.memory_allocated() / MIB if device == "cuda" else peak_memory_mib(device)


def reset_peak(device: str) -> None:
    """Let peak_memory_mib count from now on. A CPU's peak is of the whole process."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()


def allocated_before(device: str, dtype: torch.dtype) -> int:
    """Bytes allocated on a CUDA device before a task, cuBLAS's workspaces included.

    A thread's first product, be it autograd's, takes a workspace of tens of MiB for good, which
    would count as memory of the task that happened to be first.
    """
    if device != "cuda":
        return 0
    a = torch.ones(16, 16, device=device, dtype=dtype, requires_grad=True)
    torch.autograd.grad((a @ a).sum(), a)
    return torch.cuda.memory_allocated() - a.untyped_storage().nbytes()


def peak_mib(call: Callable[[], object], device: str, before_bytes: int) -> float | None:
    """The most that torch had allocated during `call` above what was there before its task."""
    if device != "cuda":
        return None
    synchronize(device)
    reset_peak(device)
    call()
    return peak_memory_mib(device) - before_bytes / MIB


def kept_mib(forward: Callable[[], Tensor]) -> float:
    """What autograd keeps of a forward pass for the backward pass, inputs included."""
    kept: dict[int, UntypedStorage] = {}

    def note(tensor: Tensor) -> None:
        # A hook that gives an output back to the graph would tie both in a cycle that nobody frees.
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage

    with torch.autograd.graph.saved_tensors_hooks(note, lambda unused: unused):
        forward()
    return sum(storage.nbytes() for storage in kept.values()) / MIB
