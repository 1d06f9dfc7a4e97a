"""A training loop as faults find it: its parts, which each of them may replace."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.blind.models import KINDS, Attention, Model
from benchmarks.planted.loop import DEVICE, marked

Hook = Callable[[int, Tensor], None]
"""What the loop does besides, by the step's number and its loss."""

PHASES = (
    ("step", "data", "forward", "backward", "update"),
    ("iteration", "fetch", "model", "grad", "optimizer"),
    ("train_batch", "next", "fwd", "bwd", "apply"),
)
"""Names of ranges: of a step, and of its four parts."""


def forget(model: Model) -> None:
    """Gradients are forgotten."""
    model.zero_grad(set_to_none=True)


@dataclass
class Program:
    """One loop. after: what is done after each part of a step, by the part's place in PHASES."""

    model: Model
    optimizer: torch.optim.Optimizer
    batch: Callable[[], Tensor]
    phases: tuple[str, ...]
    run: Callable[[Tensor], Tensor]
    clear: Callable[[Model], None] = forget
    after: dict[int, list[Hook]] = field(default_factory=dict)
    ends: list[Callable[[], None]] = field(default_factory=list)
    begins: list[Callable[[], None]] = field(default_factory=list)

    def step(self, number: int) -> None:
        """One step of training."""
        step, *names = self.phases
        with marked(step):
            self.clear(self.model)
            with marked(names[0]):
                inputs = self.batch()
            with marked(names[1]), torch.autocast(DEVICE.type, torch.bfloat16):
                logits = self.run(inputs)
                loss = functional.cross_entropy(
                    logits.flatten(0, -2).float(), self._targets(logits)
                )
                self._besides(1, number, loss)
            with marked(names[2]):
                loss.backward()
                self._besides(2, number, loss)
            with marked(names[3]):
                self.optimizer.step()
            self._besides(3, number, loss)

    def _targets(self, logits: Tensor) -> Tensor:
        rows = logits[..., 0].numel()
        return torch.arange(rows, device=logits.device) % logits.shape[-1]

    def _besides(self, part: int, number: int, loss: Tensor) -> None:
        for hook in self.after.get(part, ()):
            hook(number, loss.detach())

    def besides(self, part: int, hook: Hook) -> None:
        """Let the loop do something more after a part of a step."""
        self.after.setdefault(part, []).append(hook)

    def after_layers(self, place: Sequence[int], change: Callable[[Tensor], Tensor]) -> None:
        """Let some layers give something else than they did."""
        for number in place:
            self.model.layers[number].register_forward_hook(lambda _, inputs, made: change(made))

    @property
    def attentions(self) -> list[Attention]:
        """The model's attention modules."""
        return [each for each in self.model.modules() if isinstance(each, Attention)]


def clean(kind: str, pace: str, style: int) -> Program:
    """A loop without a fault; style: a number that chooses the optimizer and the ranges' names."""
    made, size = KINDS[kind], KINDS[kind].size(pace)
    model = made.make(size).to(DEVICE)
    if made.layout is not None:
        model = model.to(memory_format=made.layout)  # type: ignore[call-overload]
    fused = DEVICE.type == "cuda"
    optimizer: torch.optim.Optimizer = (
        torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9, fused=fused)
        if style % 2
        else torch.optim.AdamW(model.parameters(), 1e-4, fused=fused)
    )
    inputs = made.batch(size)
    return Program(model, optimizer, lambda: inputs, PHASES[style % len(PHASES)], model)
