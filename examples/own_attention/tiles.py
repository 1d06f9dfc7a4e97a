"""Causal attention by tiles in plain PyTorch: FlashAttention-2 (Dao 2023, arXiv:2307.08691).

Measure it in place of this project's own: see docs/own_model.md.
"""

import math

import torch

TILE = 128
"""Queries, and keys, of a tile."""


def tiles(context, is_causal, start=0):
    """The slices of keys that queries from `start` on see; of all keys, unless causal."""
    end = min(context, start + TILE) if is_causal else context
    for first in range(0, end, TILE):
        yield slice(first, min(first + TILE, context))


def scores_of(q, k, queries, keys, is_causal):
    """The scores of a tile, (batch, queries, keys) in float32; -inf for keys of the future."""
    scores = (q[:, queries] @ k[:, keys].mT).float() / math.sqrt(q.shape[-1])
    if is_causal and keys.stop > queries.start + 1:
        at = torch.arange(q.shape[-2], device=q.device)
        scores = scores.masked_fill(at[keys] > at[queries, None], -math.inf)
    return scores


def forward_tile(q, k, v, queries, is_causal):
    """The output of some queries (Algorithm 1), and the logarithm of the sum of their exponentials.

    Maximum and sum of a row are updated tile by tile, and what was added up so far is rescaled.
    """
    shape = (*q[:, queries].shape[:-1], 1)
    maximum = torch.full(shape, -math.inf, device=q.device)
    total = torch.zeros(shape, device=q.device)
    out = torch.zeros(q[:, queries].shape, device=q.device)
    for keys in tiles(q.shape[-2], is_causal, queries.start):
        scores = scores_of(q, k, queries, keys, is_causal)
        highest = torch.maximum(maximum, scores.amax(-1, keepdim=True))
        weights, rescale = torch.exp(scores - highest), torch.exp(maximum - highest)
        total = total * rescale + weights.sum(-1, keepdim=True)
        out = out * rescale + (weights.to(v.dtype) @ v[:, keys]).float()
        maximum = highest
    return (out / total).to(q.dtype), (maximum + total.log()).squeeze(-1)


def forward(q, k, v, is_causal):
    """The output, (batch, T, d), and the logarithm of each row's sum, (batch, T) in float32."""
    parts = [forward_tile(q, k, v, queries, is_causal) for queries in tiles(q.shape[-2], False)]
    outs, logarithms = zip(*parts, strict=True)
    return torch.cat(outs, dim=1), torch.cat(logarithms, dim=1)


def backward(q, k, v, out, logarithm, d_out, is_causal):
    """The gradients of q, k and v (Algorithm 2): weights are computed again, tile by tile."""
    dq, dk, dv = (torch.zeros(each.shape, device=q.device) for each in (q, k, v))
    row = (d_out.float() * out.float()).sum(-1, keepdim=True)
    scale = 1 / math.sqrt(q.shape[-1])
    for queries in tiles(q.shape[-2], False):
        for keys in tiles(q.shape[-2], is_causal, queries.start):
            scores = scores_of(q, k, queries, keys, is_causal)
            weights = torch.exp(scores - logarithm[:, queries, None])
            d_weights = (d_out[:, queries] @ v[:, keys].mT).float()
            d_scores = (weights * (d_weights - row[:, queries]) * scale).to(q.dtype)
            dv[:, keys] += weights.to(q.dtype).mT @ d_out[:, queries]
            dq[:, queries] += d_scores @ k[:, keys]
            dk[:, keys] += d_scores.mT @ q[:, queries]
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


class TiledAttention(torch.autograd.Function):
    """Attention of (batch, T, d), which keeps one number per row in place of a row of weights."""

    @staticmethod
    def forward(ctx, q, k, v, is_causal=False):
        """softmax(q k^T / sqrt(d)) v, of each position and the ones before it if causal."""
        out, logarithm = forward(q, k, v, is_causal)
        ctx.save_for_backward(q, k, v, out, logarithm)
        ctx.is_causal = is_causal
        return out

    @staticmethod
    def backward(ctx, d_out):
        """The gradients of q, k and v; none of the flag."""
        return *backward(*ctx.saved_tensors, d_out, ctx.is_causal), None
