"""A training loop whose every part can be replaced by one with a fault.

The model is a small decoder (RMS norm, rotary-free attention, SwiGLU), another one than the
project's own, so that what names its faults isn't made for one model.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@dataclass(frozen=True)
class Size:
    """What sets the pace: a small model's launches, or a large one's work on the device."""

    width: int
    layers: int
    heads: int
    batch: int
    context: int
    vocabulary: int
    micro_batches: int


HOST = Size(width=256, layers=4, heads=4, batch=4, context=64, vocabulary=4096, micro_batches=2)
DEVICE_BOUND = Size(
    width=1536, layers=4, heads=12, batch=16, context=768, vocabulary=16384, micro_batches=2
)
TINY = Size(width=32, layers=2, heads=2, batch=2, context=16, vocabulary=128, micro_batches=2)
"""For trying the programs on a CPU."""


@contextmanager
def marked(name: str) -> Iterator[None]:
    """A range of this name, for nsys and for torch.profiler."""
    with torch.profiler.record_function(name):
        if DEVICE.type == "cuda":
            torch.cuda.nvtx.range_push(name)
        try:
            yield
        finally:
            if DEVICE.type == "cuda":
                torch.cuda.nvtx.range_pop()


class Attention(nn.Module):
    """Causal self-attention through SDPA."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.joint = nn.Linear(size.width, 3 * size.width, bias=False)
        self.out = nn.Linear(size.width, size.width, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """Map (batch, context, width) to the same."""
        batch, context, width = hidden.shape
        joint = self.joint(hidden).view(batch, context, 3, self.heads, width // self.heads)
        query, key, value = joint.permute(2, 0, 3, 1, 4)
        mixed = self.mix(query, key, value)
        joined: Tensor = self.out(mixed.transpose(1, 2).reshape(batch, context, width))
        return joined

    def mix(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attention proper, over (batch, heads, context, head width)."""
        return functional.scaled_dot_product_attention(query, key, value, is_causal=True)


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.up = nn.Linear(size.width, 8 * size.width // 2, bias=False)
        self.down = nn.Linear(2 * size.width, size.width, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """Map (batch, context, width) to the same."""
        gate, value = self.up(hidden).chunk(2, dim=-1)
        narrowed: Tensor = self.down(self.gated(gate, value))
        return narrowed

    def gated(self, gate: Tensor, value: Tensor) -> Tensor:
        """The activation."""
        return functional.silu(gate) * value


class Block(nn.Module):
    """Attention and feed-forward, each with its norm and residual."""

    def __init__(self, size: Size, number: int) -> None:
        super().__init__()
        self.number = number
        self.norms = nn.ModuleList([nn.RMSNorm(size.width) for _ in range(2)])
        self.attention, self.feed_forward = Attention(size), FeedForward(size)

    def forward(self, hidden: Tensor) -> Tensor:
        """Map (batch, context, width) to the same."""
        with marked(f"block.{self.number}"):
            with marked("attention"):
                hidden = hidden + self.attention(self.norms[0](hidden))
            with marked("mlp"):
                hidden = hidden + self.feed_forward(self.norms[1](hidden))
        return hidden


class Decoder(nn.Module):
    """Token ids (batch, context) to logits."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.embedding = nn.Embedding(size.vocabulary, size.width)
        self.blocks = nn.ModuleList([Block(size, n) for n in range(size.layers)])
        self.norm = nn.RMSNorm(size.width)
        self.head = nn.Linear(size.width, size.vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (batch, context, vocabulary)."""
        with marked("embedding"):
            hidden = self.embedding(tokens)
        for block in self.blocks:
            hidden = self.run(block, hidden)
        with marked("head"):
            logits: Tensor = self.head(self.norm(hidden))
        return logits

    def run(self, block: nn.Module, hidden: Tensor) -> Tensor:
        """One block."""
        mapped: Tensor = block(hidden)
        return mapped


@dataclass(frozen=True)
class Loop:
    """A training loop; each part may be one with a fault.

    batch: the inputs and targets of a micro batch, on the device; after_backward, after_step: what
    the loop does besides, by its step's number.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    batch: Callable[[], tuple[Tensor, Tensor]]
    loss: Callable[[nn.Module, Tensor, Tensor], Tensor]
    after_backward: Callable[["Loop", Tensor], None]
    before_step: Callable[["Loop", int], None]
    after_step: Callable[["Loop", int], None]
    zero_grad: Callable[["Loop"], None]

    def step(self, number: int, micro_batches: int) -> None:
        """One step of training."""
        with marked("step"):
            self.before_step(self, number)
            self.zero_grad(self)
            for _ in range(micro_batches):
                with marked("data"):
                    inputs, targets = self.batch()
                with marked("forward"):
                    loss = self.loss(self.model, inputs, targets)
                with marked("backward"):
                    loss.backward()
                self.after_backward(self, loss)
            with marked("clip"):
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0, foreach=True)
            with marked("optimizer"):
                self.optimizer.step()
            self.after_step(self, number)


def nothing(*_: Any) -> None:
    """What a loop without a fault does besides."""


def zeroed(loop: Loop) -> None:
    """Gradients are forgotten."""
    loop.optimizer.zero_grad(set_to_none=True)


def cross_entropy(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """The loss, with products in bfloat16."""
    with torch.autocast(DEVICE.type, torch.bfloat16):
        logits = model(inputs)
    with marked("loss"):
        return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def resident_batch(size: Size) -> Callable[[], tuple[Tensor, Tensor]]:
    """A batch that stays on the device."""
    shape = size.batch, size.context
    tokens = torch.randint(size.vocabulary, shape, device=DEVICE)
    return lambda: (tokens, tokens)


def clean_loop(size: Size, model: nn.Module | None = None) -> Loop:
    """The loop without a fault."""
    model = (model or Decoder(size)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    batch = resident_batch(size)
    return Loop(model, optimizer, batch, cross_entropy, nothing, nothing, nothing, zeroed)


def changed(loop: Loop, **parts: Any) -> Loop:
    """The loop with other parts."""
    return replace(loop, **parts)
