"""The workload: the one object that a case's benchmark and its capture both run."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch

from workflow_src.common.case import Case
from workflow_src.common.units import GIB
from workflow_src.measure.oom import free
from workflow_src.measure.timing import synchronize
from workflow_src.model.adamw import build_optimizer
from workflow_src.model.loss import cross_entropy
from workflow_src.model.ranges import range_
from workflow_src.model.transformer import build_model

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


def use_precision(precision: str) -> None:
    """Let matrix multiplies of float32 use TF32 tensor cores for "tf32", and for nothing else."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


def cap_memory(limit_gib: float | None) -> None:
    """Let this process take `limit_gib` GiB of the CUDA device's memory at most.

    Raises ValueError where the device itself has less.
    """
    if limit_gib is None:
        return
    total = torch.cuda.get_device_properties(0).total_memory
    if limit_gib * GIB > total:
        raise ValueError(
            f"memory_limit_gib: {limit_gib:g} is more than the device has ({total / GIB:.1f} GiB)"
        )
    torch.cuda.set_per_process_memory_fraction(limit_gib * GIB / total)


class Workload:
    """A model, its optimizer and one batch of random tokens, ready to run any phase.

    Each phase emits its own inner ranges; the step range around it is the caller's.
    """

    def __init__(self, case: Case) -> None:
        """Build everything that `case` names on its device. May raise torch.OutOfMemoryError."""
        use_precision(case.precision)
        if case.device == "cuda":
            cap_memory(case.memory_limit_gib)
        self.case = case
        self.device = torch.device(case.device)
        self.model = build_model(case)
        self.optimizer = build_optimizer(case.optimizer, self.model.parameters())
        self.scaler = torch.amp.GradScaler(case.device, enabled=case.precision == "fp16")
        generator = torch.Generator().manual_seed(case.seed)
        tokens = torch.randint(
            case.vocabulary, (case.batch, case.context + 1), generator=generator
        ).to(self.device)
        self.inputs, self.targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def _autocast(self) -> AbstractContextManager[object]:
        dtype = AUTOCAST.get(self.case.precision)
        return torch.autocast(self.case.device, dtype=dtype) if dtype else nullcontext()

    @torch.no_grad()
    def forward(self) -> None:
        """Logits of the batch, without a graph for gradients."""
        with self._autocast():
            self.model(self.inputs)

    def forward_backward(self) -> None:
        """Gradients of the mean cross-entropy; those of the step before are dropped first."""
        with range_("zero_grad"):
            self.optimizer.zero_grad(set_to_none=True)
        with self._autocast():
            with range_("forward"):
                logits = self.model(self.inputs)
            with range_("loss"):
                loss = cross_entropy(logits, self.targets)
        with range_("backward"):
            torch.autograd.backward(self.scaler.scale(loss))

    def train_step(self) -> None:
        """One training step: forward_backward, then the optimizer."""
        self.forward_backward()
        with range_("optimizer"):
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def phase(self, name: str) -> Callable[[], None]:
        """The step of the phase called `name`."""
        steps = {
            "forward": self.forward,
            "forward_backward": self.forward_backward,
            "train_step": self.train_step,
        }
        return steps[name]

    def synchronize(self) -> None:
        """Wait until the device has done all that was launched."""
        synchronize(self.case.device)

    def release(self) -> None:
        """Give back gradients, optimizer state and cached memory, as after running out of it."""
        self.optimizer.zero_grad(set_to_none=True)
        self.optimizer.state.clear()
        free(self.case.device)
