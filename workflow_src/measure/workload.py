"""The workload: what the benchmark and the capture of a case run, phase by phase."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from workflow_src.common.case import COMPILED, PHASES, AnyCase, Brought, Case
from workflow_src.measure import brought
from workflow_src.measure.compiling import compile_whole
from workflow_src.measure.module_ranges import ForwardThenLoss, is_compiled, module_ranges
from workflow_src.measure.own_attention import own_core
from workflow_src.measure.precision import autocast, use_precision
from workflow_src.measure.rows import Row, attempt, free, in_turn, said, say
from workflow_src.measure.timing import synchronize
from workflow_src.model.adamw import build_optimizer
from workflow_src.model.ranges import range_
from workflow_src.model.transformer import build_model, cross_entropy
from workflow_src.workload import Workload as Made


class Workload:
    """A model, its optimizer and one batch, ready to run any phase.

    Each phase emits its inner ranges, the caller the step range around it. precision: what is set
    around the model, or "". compiles: whether the whole model is to run under torch.compile;
    compiled: whether any part does.
    """

    def __init__(self, case: AnyCase, bf16_weights: bool = False) -> None:
        """Build everything on the case's device. May run out of memory.

        bf16_weights: parameters are in bfloat16, and nothing runs under autocast.
        """
        self.case = case
        self.device = torch.device(case.device)
        made, taken = brought.made(case) if isinstance(case, Brought) else (_own(case), set())
        self.model, self.batch, self.loss = made.model, made.batch, made.loss
        self._optimizer = made.optimizer
        if bf16_weights:
            for parameter in self.model.parameters():
                parameter.data = parameter.data.bfloat16()
        self.precision = "" if bf16_weights or "precision" in taken else case.precision
        self.compiles = case.execution == COMPILED and "execution" not in taken
        self.scaler = torch.amp.GradScaler(case.device, enabled=self.precision == "fp16")
        self._divided: AbstractContextManager[object] = nullcontext()
        self._last_loss: Tensor | None = None
        state = self._optimizer.state if self._optimizer else {}
        self._made_at_once = {parameter: dict(each) for parameter, each in state.items()}
        if self.compiles:
            compile_whole(self.model)
        self.compiled = any(map(is_compiled, self.model.modules()))

    def told(self) -> dict[str, bool | int]:
        """Whether the model is `compiled`; of a brought one also its parameters, its batch's size,
        and whether its last loss, if any, is `finite`.
        """
        if not isinstance(self.case, Brought):
            return {"compiled": True} if self.compiled else {}
        last = self._last_loss
        finite = {} if last is None else {"finite": bool(torch.isfinite(last))}
        sizes = {"parameters": sum(each.numel() for each in self.model.parameters())}
        sizes |= brought.batch_size(self.batch)
        return {"compiled": self.compiled} | sizes | finite

    @property
    def phases(self) -> tuple[str, ...]:
        """Phases that can be run: without anything to train, the forward pass alone."""
        return PHASES if self._optimizer else PHASES[:1]

    @property
    def optimizer(self) -> Optimizer:
        """What trains the model; none where only the forward pass can be run."""
        assert self._optimizer is not None, "see phases"
        return self._optimizer

    def forward(self) -> None:
        """Compute `logits`, without an autograd graph."""
        self.logits()

    @torch.no_grad()
    def logits(self) -> Any:
        """What the model makes of the batch; this project's own, (batch, context, vocabulary)."""
        with autocast(self.precision, self.case.device):
            return self.model(*self.batch)

    def forward_backward(self) -> None:
        """Compute gradients of the loss; the previous step's are dropped first."""
        with range_("zero_grad"):
            self.optimizer.zero_grad(set_to_none=True)
        with autocast(self.precision, self.case.device), self._divided:
            loss = self.loss(self.model, *self.batch)
        with range_("backward"):
            torch.autograd.backward(self.scaler.scale(loss))
        if isinstance(self.case, Brought):
            self._last_loss = loss.detach()

    def train_step(self) -> None:
        """Run forward_backward, then the optimizer."""
        self.forward_backward()
        with range_("optimizer"):
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def phase(self, name: str) -> Callable[[], None]:
        """The function that runs one step of a phase."""
        assert name in PHASES, name
        step: Callable[[], None] = getattr(self, name)
        return step

    @contextmanager
    def observed(self) -> Iterator[None]:
        """While inside, a brought model emits ranges; our own always does."""
        if not isinstance(self.case, Brought):
            yield
            return
        if self.compiled:
            say(f"{self.case.case}: what runs under torch.compile has no ranges of modules")
        self._divided = divided = ForwardThenLoss()
        modules = module_ranges(self.model, self.case.module_depth, self.case.module_fold)
        with modules, divided.of(self.model):
            yield
        self._divided = nullcontext()

    @contextmanager
    def capturable(self) -> Iterator[None]:
        """While inside, torch's optimizers can be part of a CUDA graph: they count on the device.

        State made before or inside is to be released.
        """
        groups = self._optimizer.param_groups if self._optimizer else []
        before = [dict(group) for group in groups]
        for group in groups:
            group.update({"capturable": True} if "capturable" in group else {})
        try:
            yield
        finally:
            for group, each in zip(groups, before, strict=True):
                group.update(each)

    def synchronize(self) -> None:
        """Wait until the device has finished all work launched."""
        synchronize(self.case.device)

    def release(self) -> None:
        """Free gradients, optimizer state and cached memory, as after running out of memory.

        State that the optimizer's constructor made, as Adagrad's does, stays: steps don't make it.
        """
        if self._optimizer:
            self.optimizer.zero_grad(set_to_none=True)
            self.optimizer.state.clear()
            for parameter, made in self._made_at_once.items():
                self.optimizer.state[parameter] = dict(made)
        free(self.case.device)


def _own(case: Case) -> Made:
    use_precision(case.precision)
    model = build_model(case, own_core(case))
    inputs, loss = next_tokens(random_tokens(case, case.batch))
    return Made(model, (inputs,), loss, build_optimizer(case.optimizer, model.parameters()))


def random_tokens(case: Case, sequences: int) -> Tensor:
    """Tokens drawn with the case's seed: (sequences, context + 1), int64."""
    generator = torch.Generator().manual_seed(case.seed)
    shape = (sequences, case.context + 1)
    return torch.randint(case.vocabulary, shape, generator=generator).to(case.device)


def next_tokens(tokens: Tensor) -> tuple[Tensor, Callable[..., Tensor]]:
    """The inputs in some sequences, and a model's loss on them: the mean cross-entropy of the token
    after each."""
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def loss(model: Callable[[Tensor], Tensor], inputs: Tensor) -> Tensor:
        with range_("forward"):
            logits = model(inputs)
        with range_("loss"):
            return cross_entropy(logits, targets)

    return inputs, loss


NOTHING_TO_TRAIN = "no parameter of the model needs a gradient"

Built = tuple[Workload | None, Row]
"""A workload, and the row (status, reason) of building it."""


def build(case: AnyCase, *how: bool) -> Built:
    """The workload of a case, built as a study says; None if not even the model fits in memory."""
    row = attempt(lambda: {"made": Workload(case, *how)}, partial(free, case.device))
    return row.pop("made", None), row


def run_phases(
    case: AnyCase,
    run: Callable[[Workload, str], Row],
    phases: Sequence[str] = PHASES,
    built: Built | None = None,
) -> Iterator[tuple[str, Row]]:
    """Each of `phases` with the row that `run` returns, or status oom or skipped; prints a line."""
    workload, built_row = built or build(case)

    def step(phase: str) -> Row:
        if workload is None:
            return built_row
        if phase not in workload.phases:
            return {"status": "skipped", "reason": NOTHING_TO_TRAIN}
        with brought.blamed(case.brought_code, "a step", isinstance(case, Brought)):
            return run(workload, phase)

    for phase, row in in_turn(phases, step, workload.release if workload else lambda: None):
        yield phase, said(f"{case.case} {phase}", row)
