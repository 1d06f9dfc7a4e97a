"""A language model laid out as a course's own: Linear and Embedding written out, and no ranges."""

import math

import torch
from torch import Tensor, nn


class Linear(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_out, d_in) / math.sqrt(d_in))

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("...i,oi->...o", x, self.weight)


class Embedding(nn.Module):
    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocab_size, d_model))

    def forward(self, ids: Tensor) -> Tensor:
        return self.weight[ids]


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w1, self.w2 = Linear(d_model, d_ff), Linear(d_ff, d_model)
        self.w3 = Linear(d_model, d_ff)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.w1(x)
        product: Tensor = self.w2(gate * torch.sigmoid(gate) * self.w3(x))
        return product


def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Its caller looks it up here, so that an annotated one can take its place."""
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
    return torch.einsum("...qk,...kd->...qd", weights, v)


class CausalMultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj = Linear(d_model, d_model), Linear(d_model, d_model)
        self.v_proj, self.output_proj = Linear(d_model, d_model), Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            each(x).unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)
            for each in (self.q_proj, self.k_proj, self.v_proj)
        )
        mask = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool, device=x.device).tril()
        mixed = scaled_dot_product_attention(q, k, v, mask)
        output: Tensor = self.output_proj(mixed.transpose(-2, -3).flatten(-2))
        return output


class TransformerBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__()
        self.attn = CausalMultiHeadSelfAttention(d_model, num_heads)
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(x)
        output: Tensor = x + self.ffn(x)
        return output


class BasicsTransformerLM(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, num_layers: int, num_heads: int, d_ff: int
    ) -> None:
        super().__init__()
        self.token_embeddings = Embedding(vocab_size, d_model)
        blocks = (TransformerBlock(d_model, num_heads, d_ff) for _ in range(num_layers))
        self.layers = nn.ModuleList(blocks)
        self.lm_head = Linear(d_model, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        logits: Tensor = self.lm_head(x)
        return logits
