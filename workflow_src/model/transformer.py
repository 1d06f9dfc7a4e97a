"""A decoder-only Transformer language model with pre-norm blocks, and its training loss."""

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from workflow_src.common.case import Case
from workflow_src.model.attention import Core, MultiHeadAttention, RotaryEmbedding, attention_core
from workflow_src.model.ranges import range_


class RMSNorm(nn.Module):
    """Root mean square normalization (Zhang & Sennrich 2019), over the last dimension.

    (..., width) -> (..., width), in the input's dtype.
    """

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """x / sqrt(mean(x^2) + eps) * weight."""
        with range_("norm"):
            # Squares overflow float16 and lose most digits in bfloat16.
            wide = x.float()
            scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
            return (wide * scale * self.weight).to(x.dtype)


class SwiGLU(nn.Module):
    """W2(silu(W1 x) * W3 x) (Shazeer 2020). (..., d_model) -> (..., d_model)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w1 = nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_ff, d_model, bias=False)
        self.w3 = nn.Linear(d_model, d_ff, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Project up, gate, project down."""
        with range_("feed_forward"):
            result: Tensor = self.w2(silu(self.w1(x)) * self.w3(x))
            return result


class Block(nn.Module):
    """Attention and feed-forward, each of the normalized stream, added back to the stream."""

    def __init__(self, d_model: int, d_ff: int, attention: MultiHeadAttention) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(d_model)
        self.attention = attention
        self.feed_forward_norm = RMSNorm(d_model)
        self.feed_forward = SwiGLU(d_model, d_ff)

    def forward(self, x: Tensor) -> Tensor:
        """Add both sublayers' contributions."""
        with range_("block"):
            x = x + self.attention(self.attention_norm(x))
            x = x + self.feed_forward(self.feed_forward_norm(x))
        return x


class TransformerLM(nn.Module):
    """Next-token logits; output head untied, no biases.

    Tokens (batch, T), int64 -> logits (batch, T, vocabulary), for T <= context. `core` takes the
    place of the attention that the case names; a state_dict loads into any of them.
    """

    def __init__(self, case: Case, core: Core | None = None) -> None:
        super().__init__()
        width, rotary = case.d_model, RotaryEmbedding(case.context, case.d_head)
        core = core or attention_core(case.attention, case.context)
        self.embedding = nn.Embedding(case.vocabulary, width)
        self.blocks = nn.ModuleList(
            Block(width, case.d_ff, MultiHeadAttention(width, case.heads, rotary, core))
            for _ in range(case.layers)
        )
        self.norm = RMSNorm(width)
        self.head = nn.Linear(width, case.vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of the token after each position."""
        with range_("embedding"):
            x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        with range_("head"):
            logits: Tensor = self.head(x)
        return logits


STD = 0.02
"""The standard deviation of weights, GPT-2's (Radford et al. 2019)."""


def build_model(case: Case, core: Core | None = None) -> TransformerLM:
    """The case's model, in float32 on its device.

    Matrices are drawn with its seed, normal but truncated at three STD; gains are 1.
    """
    with torch.device(case.device):
        model = TransformerLM(case, core)
    generator = torch.Generator(case.device).manual_seed(case.seed)
    for weight in model.parameters():
        if weight.dim() > 1:
            nn.init.trunc_normal_(weight, 0.0, STD, -3 * STD, 3 * STD, generator)
    return model


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean negative log-likelihood of the targets, in nats.

    logits: (batch, T, vocabulary); targets: (batch, T), int64.
    """
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
