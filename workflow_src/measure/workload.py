"""The workload: the object that both the benchmark and the capture of a case run."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch

from workflow_src.common.case import Case
from workflow_src.measure.oom import free
from workflow_src.measure.timing import synchronize
from workflow_src.model.adamw import build_optimizer
from workflow_src.model.loss import cross_entropy
from workflow_src.model.ranges import range_
from workflow_src.model.transformer import build_model

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


def use_precision(precision: str) -> None:
    """Allow TF32 tensor cores in float32 matrix products for "tf32", and forbid them otherwise."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


class Workload:
    """A model, its optimizer and one batch of random tokens, ready to run any phase.

    Each phase emits its own inner ranges; the caller emits the step range around it.
    """

    def __init__(self, case: Case) -> None:
        """Build everything for `case` on its device. May run out of memory."""
        use_precision(case.precision)
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
        """Compute the logits of the batch, without an autograd graph."""
        with self._autocast():
            self.model(self.inputs)

    def forward_backward(self) -> None:
        """Compute gradients of the mean cross-entropy; the previous step's are dropped first."""
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
