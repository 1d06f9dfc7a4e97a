"""Trains a model in one of several ways, and measures memory, time, a trace, and errors."""

from collections.abc import Callable, Iterable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.nn.utils import parameters_to_vector

from workflow_src.common.case import Case
from workflow_src.measure.memory import memory_before_mib, peak_memory_mib, peak_mib, reset_peak
from workflow_src.measure.precision import autocast, use_precision
from workflow_src.measure.rows import Row, free
from workflow_src.measure.timing import synchronize, time_steps
from workflow_src.measure.windows import exported_torch_window
from workflow_src.measure.workload import next_tokens, random_tokens
from workflow_src.model.ranges import range_
from workflow_src.model.transformer import build_model
from workflow_src.studies.ranks.ways import BUILD, Trained
from workflow_src.studies.study import Point

STEP = "train_step"

CHECKED = {"d_model": 128, "d_ff": 512, "layers": 2, "heads": 4}
"""The model whose step is compared with that of one process on the whole batch."""


class Training:
    """One rank's part of training in one way; `case.batch` sequences per rank."""

    def __init__(self, case: Case, way: str) -> None:
        """Build the model, the same in all ranks, and this rank's batch. May run out of memory."""
        use_precision(case.precision)
        self.case = case
        self.trained: Trained = BUILD[way](build_model(case))
        self.tokens = tokens(case).chunk(dist.get_world_size())[dist.get_rank()]

    def backward(self) -> None:
        """Compute gradients of the mean loss over all ranks' batches."""
        self.trained.model.zero_grad(set_to_none=True)
        inputs, loss_of = next_tokens(self.tokens)
        with autocast(self.case.precision, self.case.device):
            loss = loss_of(self.trained.run, inputs)
        with range_("backward"):
            torch.autograd.backward(loss)
        with range_("average"):
            self.trained.average()

    def optimize(self) -> None:
        """Update the parameters by their gradients, in all ranks."""
        with range_("optimizer"):
            self.trained.optimizer.step()

    def step(self) -> None:
        """Run one training step."""
        with range_(STEP):
            self.backward()
            self.optimize()

    def gradients(self) -> Tensor:
        """The whole gradients of all parameters, one after another, in float64."""
        return _together(each.grad for each in self.trained.model.parameters())

    def parameters(self) -> Tensor:
        """Likewise the parameters, a copy."""
        return _together(each.detach() for each in self.trained.model.parameters())


def tokens(case: Case) -> Tensor:
    """The sequences of all ranks, in order: (ranks x batch, context + 1), int64."""
    return random_tokens(case, dist.get_world_size() * case.batch)


def measure_way(case: Case, way: str, point: Point, trace: Path) -> Row:
    """One way's memory by part of a step, samples of a step, and errors. The trace of
    `profiled_steps` more steps is written to `trace`."""
    checked = Case.from_dict(case.as_dict() | CHECKED | {"precision": "fp32"})
    errors = {} if way == "alone" else step_errors(checked, way)
    free(case.device)
    reset_peak(case.device)
    training = Training(case, way)
    made = {
        "initialized_mib": peak_memory_mib(case.device),
        "held_mib": memory_before_mib(case.device),
    }
    for _ in range(point["warmup_steps"]):
        training.step()
    samples = time_steps(training.step, wait_for_all(case.device), point["steps"])
    row = errors | made | memory(training) | {"samples_ns": samples}
    # A CPU's operators are no device work: what a trace tells of a GPU's streams isn't in them.
    if case.device == "cuda":
        profile(training, point["profiled_steps"], trace)
    return row


def wait_for_all(device: str) -> Callable[[], None]:
    """A function that waits until every rank's device has finished, which takes some 50 us."""

    def wait() -> None:
        synchronize(device)
        dist.barrier()
        synchronize(device)

    return wait


def memory(training: Training) -> Row:
    """Peak memory (MiB) of a steady step before the optimizer's part, and of that; None on a CPU,
    whose peak covers the process's lifetime."""
    device = training.case.device
    before, within = (peak_mib(part, device, 0) for part in (training.backward, training.optimize))
    return {"before_optimizer_mib": before, "optimizer_mib": within}


def profile(training: Training, steps: int, trace: Path) -> None:
    """Write the trace of `steps` steps, which all ranks begin together."""
    wait = wait_for_all(training.case.device)

    def settle() -> None:
        training.step()
        wait()

    with exported_torch_window(training.case.device, trace, settle):
        for _ in range(steps):
            training.step()
        synchronize(training.case.device)
    wait()


def step_errors(case: Case, way: str) -> Row:
    """How far a step is from that of one process on all ranks' batches: relative norms. AdamW alone
    would not tell a sum of gradients from their mean: its step doesn't depend on their scale."""
    whole = Training(case, "alone")
    whole.tokens = tokens(case)
    part = Training(case, way)
    start = whole.parameters()
    whole.backward()
    part.backward()
    gradient_error = (part.gradients() - whole.gradients()).norm() / whole.gradients().norm()
    whole.optimize()
    part.optimize()
    changed = (whole.parameters() - start).norm()
    parameter_error = (part.parameters() - whole.parameters()).norm() / changed
    return {"gradient_error": float(gradient_error), "parameter_error": float(parameter_error)}


def _together(tensors: Iterable[Tensor | None]) -> Tensor:
    return parameters_to_vector(map(_whole, tensors)).double()


def _whole(tensor: Tensor | None) -> Tensor:
    assert tensor is not None
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
