"""The workload: the object that both the benchmark and the capture of a case run."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from workflow_src.common.case import Case
from workflow_src.measure.oom import free
from workflow_src.measure.precision import AUTOCAST, use_precision
from workflow_src.measure.timing import synchronize
from workflow_src.model.adamw import build_optimizer
from workflow_src.model.loss import cross_entropy
from workflow_src.model.ranges import range_
from workflow_src.model.transformer import build_model


@dataclass(frozen=True)
class Build:
    """How a workload is built, where a study departs from what every case does.

    bf16_weights: parameters are kept in bfloat16, and nothing runs under autocast. compiled: the
    model runs under torch.compile. capturable: torch's optimizers can be part of a CUDA graph.
    rounded: compiled kernels round to bf16 wherever plain ones do, which they otherwise leave out.
    """

    bf16_weights: bool = False
    compiled: bool = False
    capturable: bool = False
    rounded: bool = False

    @property
    def options(self) -> dict[str, str | int | bool | Callable[..., object]] | None:
        """What torch.compile is told; None leaves its own choices."""
        return {"emulate_precision_casts": True} if self.rounded else None


USUAL = Build()


class Workload:
    """A model, its optimizer and one batch of random tokens, ready to run any phase.

    Each phase emits its own inner ranges; the caller emits the step range around it.
    """

    def __init__(self, case: Case, build: Build = USUAL) -> None:
        """Build everything for `case` on its device. May run out of memory."""
        use_precision(case.precision)
        self.case, self.build = case, build
        self.device = torch.device(case.device)
        self.model = build_model(case)
        if build.bf16_weights:
            for parameter in self.model.parameters():
                parameter.data = parameter.data.bfloat16()
        self.run: Callable[[Tensor], Tensor] = (
            torch.compile(self.model, options=build.options) if build.compiled else self.model
        )
        parameters = self.model.parameters()
        self.optimizer = build_optimizer(case.optimizer, parameters, build.capturable)
        self.scaler = torch.amp.GradScaler(case.device, enabled=case.precision == "fp16")
        generator = torch.Generator().manual_seed(case.seed)
        tokens = torch.randint(
            case.vocabulary, (case.batch, case.context + 1), generator=generator
        ).to(self.device)
        self.inputs, self.targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def _autocast(self) -> AbstractContextManager[object]:
        dtype = None if self.build.bf16_weights else AUTOCAST.get(self.case.precision)
        return torch.autocast(self.case.device, dtype=dtype) if dtype else nullcontext()

    def forward(self) -> None:
        """Compute the logits of the batch, without an autograd graph."""
        self.logits()

    @torch.no_grad()
    def logits(self) -> Tensor:
        """The logits of the batch, without an autograd graph: (batch, context, vocabulary)."""
        with self._autocast():
            return self.run(self.inputs)

    def forward_backward(self) -> None:
        """Compute gradients of the mean cross-entropy; the previous step's are dropped first."""
        with range_("zero_grad"):
            self.optimizer.zero_grad(set_to_none=True)
        with self._autocast():
            with range_("forward"):
                logits = self.run(self.inputs)
            with range_("loss"):
                loss = cross_entropy(logits, self.targets)
        with range_("backward"):
            torch.autograd.backward(self.scaler.scale(loss))

    def train_step(self) -> None:
        """Run one training step: forward_backward, then the optimizer."""
        self.forward_backward()
        with range_("optimizer"):
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def phase(self, name: str) -> Callable[[], None]:
        """The function that runs one step of the phase called `name`."""
        steps = {
            "forward": self.forward,
            "forward_backward": self.forward_backward,
            "train_step": self.train_step,
        }
        return steps[name]

    def synchronize(self) -> None:
        """Wait until the device has finished all work launched."""
        synchronize(self.case.device)

    def release(self) -> None:
        """Free gradients, optimizer state and cached memory, as after running out of memory."""
        self.optimizer.zero_grad(set_to_none=True)
        self.optimizer.state.clear()
        free(self.case.device)
