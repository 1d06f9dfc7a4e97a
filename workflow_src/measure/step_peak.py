"""The peak memory of one step of a phase, and what the device has for it."""

import torch
from torch import Tensor

from workflow_src.common.units import MIB
from workflow_src.measure.live_tensors import LiveTensors, storage_bytes
from workflow_src.measure.memory import reset_peak
from workflow_src.measure.oom import Row
from workflow_src.measure.workload import Workload


def available_mib(device: str) -> float | None:
    """Memory (MiB) that a CUDA device has for torch: free, or held by its allocator already."""
    if device != "cuda":
        return None
    free_bytes, _ = torch.cuda.mem_get_info()
    return (free_bytes + torch.cuda.memory_reserved()) / MIB


def step_peak(workload: Workload, phase: str, before_bytes: int) -> Row:
    """Peak bytes of a step: what the allocator handed out, and what was asked of it.

    Without `before_bytes`, which were allocated before the workload. On a CPU, of the storages that
    operators returned and those that outlive a step.
    """
    workload.optimizer.zero_grad(set_to_none=True)
    if workload.case.device != "cuda":
        with LiveTensors(kept_tensors(workload)) as live:
            workload.phase(phase)()
        return {"peak_bytes": live.peak_bytes + storage_bytes(kept_tensors(workload))}
    workload.synchronize()
    reset_peak("cuda")
    workload.phase(phase)()
    workload.synchronize()
    stats = torch.cuda.memory_stats()
    return {
        "peak_bytes": stats["allocated_bytes.all.peak"] - before_bytes,
        "requested_bytes": stats["requested_bytes.all.peak"] - before_bytes,
        "reserved_bytes": stats["reserved_bytes.all.peak"],
    }


def kept_tensors(workload: Workload) -> list[Tensor]:
    """Tensors that outlive a step: the model's, the batch, and the optimizer's state."""
    model = workload.model
    return [*model.parameters(), *model.buffers(), *workload.batch, *state_tensors(workload)]


def state_tensors(workload: Workload) -> list[Tensor]:
    """The tensors of the optimizer's state."""
    states = workload.optimizer.state.values()
    return [each for state in states for each in state.values() if torch.is_tensor(each)]


def gradients(workload: Workload) -> list[Tensor]:
    """The gradients of the model's parameters, as far as there are any."""
    return [each.grad for each in workload.model.parameters() if each.grad is not None]
