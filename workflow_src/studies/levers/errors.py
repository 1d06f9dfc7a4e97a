"""How far a variant's logits and gradients are from those of the plain model in float32."""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from workflow_src.common.case import EAGER, Case
from workflow_src.common.units import MIB
from workflow_src.measure.memory import peak_memory_mib, reset_peak
from workflow_src.measure.timing import Call
from workflow_src.measure.workload import Workload
from workflow_src.studies.study import Row

ROOM = 4
"""A reference stays on a CUDA device that has so many times the memory that making it took:
moving the gradients of a large model to the host and back takes longer than all else."""


@dataclass(frozen=True)
class Reference:
    """What the plain model computes in float32: logits, gradients by name."""

    logits: Tensor
    gradients: dict[str, Tensor]


def reference_of(case: Case) -> Reference:
    """The reference for a variant's case: the same seed and batch. May run out of memory."""
    plain = replace(case, precision="fp32", attention="naive", optimizer="adamw", execution=EAGER)
    reset_peak(case.device)
    workload = Workload(plain)
    logits = workload.logits()
    workload.forward_backward()
    place = case.device if _has_room(case.device) else "cpu"
    found = {name: gradient.to(place) for name, gradient in gradients(workload)}
    return Reference(logits.to(place), found)


def _has_room(device: str) -> bool:
    """Whether a CUDA device has ROOM for what this process has just made on it."""
    if device != "cuda":
        return True
    total = torch.cuda.get_device_properties(0).total_memory
    allowed = total * torch.cuda.get_per_process_memory_fraction()
    return ROOM * peak_memory_mib(device) * MIB < allowed


def gradients(workload: Workload) -> list[tuple[str, Tensor]]:
    """Each parameter's name and gradient."""
    named = workload.model.named_parameters()
    return [(name, part.grad) for name, part in named if part.grad is not None]


def relative_error(found: Tensor, exact: Tensor) -> float:
    """max |found - exact| / max |exact|; infinite if anything found is not finite."""
    on_device = exact.to(found.device)
    worst = (found.detach().float() - on_device).abs().max() / on_device.abs().max()
    error = float(worst)
    return error if math.isfinite(error) else math.inf


def errors(workload: Workload, step: Call, reference: Reference) -> Row:
    """The relative error of the logits, and the largest of any parameter's gradient after `step`.

    None in place of a number for a result that is not finite.
    """
    logits = relative_error(workload.logits(), reference.logits)
    step()
    worst = max(
        relative_error(gradient, reference.gradients[name])
        for name, gradient in gradients(workload)
    )
    found = {"logits_error": logits, "gradients_error": worst}
    return {name: value if math.isfinite(value) else None for name, value in found.items()}
