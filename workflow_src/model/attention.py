"""Causal multi-head self-attention with rotary positions, and its cores."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from workflow_src.model.ranges import range_

Core = Callable[[Tensor, Tensor, Tensor], Tensor]


def written_out_softmax(x: Tensor) -> Tensor:
    """Softmax over the last dimension, one operation at a time.

    Subtracting the maximum keeps exponentials from overflowing.
    """
    exponentials = torch.exp(x - x.amax(dim=-1, keepdim=True))
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


class MaterializedAttention(nn.Module):
    """softmax(q k^T / sqrt(d_head)) v, with the full T x T matrix in memory.

    q, k, v: (batch, heads, T, d_head) each -> (batch, heads, T, d_head), for T <= context.
    """

    future: Tensor

    def __init__(self, context: int, softmax: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.softmax = softmax
        future = torch.ones(context, context, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("future", future, persistent=False)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attend from each position to itself and to the ones before it."""
        length, d_head = q.shape[-2:]
        with range_("scores"):
            scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(d_head)
            scores = scores.masked_fill(self.future[:length, :length], -math.inf)
        with range_("softmax"):
            weights = self.softmax(scores)
        with range_("values"):
            return torch.einsum("bhqk,bhkd->bhqd", weights, v)


class FusedAttention(nn.Module):
    """The same as a single PyTorch operator."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attend from each position to itself and to the ones before it."""
        with range_("sdpa"):
            return scaled_dot_product_attention(q, k, v, is_causal=True)


def attention_core(name: str, context: int) -> nn.Module:
    """The core called `name` (see case.ATTENTIONS); it has no parameters."""
    if name == "sdpa":
        return FusedAttention()
    if name == "triton_softmax":
        # Imported here, because only the CUDA builds of PyTorch include Triton.
        from workflow_src.ops.softmax import differentiable_softmax

        return MaterializedAttention(context, differentiable_softmax)
    fused = partial(torch.softmax, dim=-1)
    return MaterializedAttention(context, written_out_softmax if name == "naive" else fused)


class RotaryEmbedding(nn.Module):
    """Rotary position embedding (Su et al. 2021) of queries or keys.

    Features 2i and 2i+1 at position t are rotated by t * theta^(-2i / d_head) radians, so that
    positions affect the product of a query and a key only through their distance.
    (..., T, d_head) -> (..., T, d_head), in the input's dtype, for T <= context and an even d_head.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, context: int, d_head: int, theta: float = 10000.0) -> None:
        super().__init__()
        exponents = torch.arange(0, d_head, 2, dtype=torch.float64) / d_head
        angles = torch.outer(torch.arange(context, dtype=torch.float64), theta**-exponents)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Rotate x, whose second-to-last dimension is the position."""
        cos, sin = self.cos[: x.shape[-2]], self.sin[: x.shape[-2]]
        even, odd = x.view(*x.shape[:-1], -1, 2).unbind(-1)
        turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
        return turned.flatten(-2).to(x.dtype)


class MultiHeadAttention(nn.Module):
    """Causal multi-head self-attention (Vaswani et al. 2017) with rotary positions.

    (batch, T, d_model) -> (batch, T, d_model). `rotary` and `core` have no parameters: all blocks
    share them.
    """

    def __init__(self, d_model: int, heads: int, rotary: RotaryEmbedding, core: Core) -> None:
        super().__init__()
        self.heads = heads
        self.rotary = rotary
        self.core = core
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Mix each position with the ones before it."""
        with range_("attention"):
            with range_("qkv"):
                packed = self.qkv(x).unflatten(-1, (3, self.heads, -1))
                q, k, v = packed.permute(2, 0, 3, 1, 4).unbind(0)
            with range_("rotary"):
                q, k = self.rotary(q), self.rotary(k)
            mixed = self.core(q, k, v)
            with range_("output"):
                result: Tensor = self.output(mixed.transpose(1, 2).flatten(-2))
            return result
