"""How far a variant's logits and gradients are from those of the plain model in float32."""

import math
from dataclasses import dataclass, replace

from torch import Tensor

from workflow_src.common.case import Case
from workflow_src.measure.workload import Workload
from workflow_src.studies.levers.trial import Trial
from workflow_src.studies.study import Row


@dataclass(frozen=True)
class Reference:
    """What the plain model computes in float32, kept on the host: logits, gradients by name."""

    logits: Tensor
    gradients: dict[str, Tensor]


def reference_of(case: Case) -> Reference:
    """The reference for a variant's case: the same seed and batch. May run out of memory."""
    plain = replace(case, precision="fp32", attention="naive", optimizer="adamw")
    workload = Workload(plain)
    logits = workload.logits().cpu()
    workload.forward_backward()
    return Reference(logits, {name: gradient.cpu() for name, gradient in gradients(workload)})


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


def errors(trial: Trial, reference: Reference) -> Row:
    """The relative error of the logits, and the largest of any parameter's gradient.

    None in place of a number for a result that is not finite.
    """
    logits = relative_error(trial.workload.logits(), reference.logits)
    step = trial.call("forward_backward")
    step()
    worst = max(
        relative_error(gradient, reference.gradients[name])
        for name, gradient in gradients(trial.workload)
    )
    found = {"logits_error": logits, "gradients_error": worst}
    return {name: value if math.isfinite(value) else None for name, value in found.items()}
