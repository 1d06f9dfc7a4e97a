"""The forward pass of tiles.py as one Triton kernel, with the same backward pass.

Tiles of queries run side by side; each keeps the maximum, the sum and the output of its rows in
registers while it goes through the keys.
"""

import math

import tiles
import torch
import triton
import triton.language as tl

QUERIES, KEYS = 64, 64
"""Queries and keys of a tile."""


@triton.jit
def attend(
    q, k, v, out, logarithm, context, scale,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    IS_CAUSAL: tl.constexpr, PRODUCTS: tl.constexpr,
):  # fmt: skip
    """One tile of queries of one sequence; q, k, v and out are contiguous, (batch, T, D)."""
    sequence = tl.program_id(1).to(tl.int64) * context
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    features = tl.arange(0, D)
    here = (sequence + rows)[:, None] * D + features[None, :]
    queries = tl.load(q + here, mask=rows[:, None] < context, other=0.0)
    maximum = tl.full([BM], float("-inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    mixed = tl.zeros([BM, D], tl.float32)
    end = tl.minimum(context, (tl.program_id(0) + 1) * BM) if IS_CAUSAL else context
    for first in range(0, end, BN):
        columns = first + tl.arange(0, BN)
        there = (sequence + columns)[:, None] * D + features[None, :]
        inside = columns[:, None] < context
        keys = tl.load(k + there, mask=inside, other=0.0)
        values = tl.load(v + there, mask=inside, other=0.0)
        # In units of log2(e), so that exp2 is all that is left of exp.
        scores = tl.dot(queries, tl.trans(keys), input_precision=PRODUCTS) * scale
        seen = columns[None, :] < context
        if IS_CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, float("-inf"))
        highest = tl.maximum(maximum, tl.max(scores, axis=1))
        weights = tl.exp2(scores - highest[:, None])
        rescale = tl.exp2(maximum - highest)
        total = total * rescale + tl.sum(weights, axis=1)
        mixed = mixed * rescale[:, None]
        mixed += tl.dot(weights.to(values.dtype), values, input_precision=PRODUCTS)
        maximum = highest
    inside = rows < context
    tl.store(out + here, (mixed / total[:, None]).to(out.dtype.element_ty), mask=inside[:, None])
    # Back to natural logarithms, which the backward pass takes.
    tl.store(logarithm + sequence + rows, (maximum + tl.log2(total)) * 0.6931471805599453, inside)


class TritonAttention(torch.autograd.Function):
    """Attention of (batch, T, d), for d a power of two from 16 on."""

    @staticmethod
    def forward(ctx, q, k, v, is_causal=False):
        """softmax(q k^T / sqrt(d)) v, of each position and the ones before it if causal."""
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        batch, context, d = q.shape
        out = torch.empty_like(q)
        logarithm = torch.empty(batch, context, device=q.device)
        products = "tf32" if torch.backends.cuda.matmul.allow_tf32 else "ieee"
        grid = (triton.cdiv(context, QUERIES), batch)
        scale = math.log2(math.e) / math.sqrt(d)
        attend[grid](
            q, k, v, out, logarithm, context, scale, d, QUERIES, KEYS, is_causal, products,
            num_stages=2,
        )  # fmt: skip
        ctx.save_for_backward(q, k, v, out, logarithm)
        ctx.is_causal = is_causal
        return out

    @staticmethod
    def backward(ctx, d_out):
        """The gradients of q, k and v, by the tiles of tiles.py."""
        return *tiles.backward(*ctx.saved_tensors, d_out, ctx.is_causal), None
