"""Memory: what a call takes at its peak on a CUDA device, and what autograd keeps of it."""

from collections.abc import Callable

import torch
from torch import Tensor, UntypedStorage

from workflow_src.studies.timing import synchronize


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
    torch.cuda.reset_peak_memory_stats()
    call()
    return (torch.cuda.max_memory_allocated() - before_bytes) / 2**20


def kept_mib(forward: Callable[[], Tensor]) -> float:
    """What autograd keeps of a forward pass for the backward pass, inputs included."""
    kept: dict[int, UntypedStorage] = {}

    def note(tensor: Tensor) -> None:
        # A hook that gives an output back to the graph would tie both in a cycle that nobody frees.
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage

    with torch.autograd.graph.saved_tensors_hooks(note, lambda unused: unused):
        forward()
    return sum(storage.nbytes() for storage in kept.values()) / 2**20
