"""Softmax over rows as one Triton kernel, for rows of any length.

A row that fits in one block is read once. Of a longer one all blocks but the last are read
twice: first for the row's maximum and the sum of its exponentials, kept up to date block by
block (Milakov & Gimelshein 2018, "Online normalizer calculation for softmax"), then again, the
latest first since it is likeliest to be in a cache still. The last block waits in registers.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

LONGEST_BLOCK = 16384
"""Elements of a row that one program holds in registers.

Two programs of 16 warps share an SM then, so that one reads while the other computes.
"""

SHORTEST_TILE = 4096
"""Elements that a program takes at least, by several short rows at once."""

ELEMENTS_PER_THREAD = 32
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


@triton.jit
def _shift(maximum):  # type: ignore[no-untyped-def]
    # exp(-inf - -inf) is NaN; a row of -inf so far has a sum of zero instead.
    return tl.where(maximum == float("-inf"), 0.0, maximum)


@triton.jit  # type: ignore[untyped-decorator]
def _softmax_kernel(  # type: ignore[no-untyped-def]
    x, y, rows, columns, early,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, LONG: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0) * ROWS
    row, column = tl.arange(0, ROWS), tl.arange(0, BLOCK)
    # 64 bits up to the first row, for a tensor may have more than 2^31 elements; then 32.
    x += first.to(tl.int64) * columns
    y += first.to(tl.int64) * columns
    start = row[:, None] * columns + column[None, :]
    inside = (first + row < rows)[:, None] & (column >= 0)[None, :]

    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    if LONG:
        for block in range(early):
            value = tl.load(x + start + block * BLOCK, mask=inside, eviction_policy="evict_last")
            value = value.to(tl.float32)
            higher = tl.maximum(maximum, tl.max(value, axis=1))
            shift = _shift(higher)
            total = total * tl.exp(maximum - shift)
            total += tl.sum(tl.exp(value - shift[:, None]), axis=1)
            maximum = higher

    last = start + early * BLOCK
    there = inside
    if not WHOLE:
        there = inside & (column < columns - early * BLOCK)[None, :]
    value = tl.load(x + last, mask=there, other=float("-inf"), eviction_policy="evict_first")
    value = value.to(tl.float32)
    higher = tl.maximum(maximum, tl.max(value, axis=1))
    shift = _shift(higher)
    value = tl.exp(value - shift[:, None])
    total = total * tl.exp(maximum - shift) + tl.sum(value, axis=1)
    scale = 1.0 / total
    tl.store(y + last, (value * scale[:, None]).to(y.dtype.element_ty), mask=there)

    if LONG:
        for done in range(early):
            again = start + (early - 1 - done) * BLOCK
            value = tl.load(x + again, mask=inside, eviction_policy="evict_first").to(tl.float32)
            value = tl.exp(value - shift[:, None]) * scale[:, None]
            tl.store(y + again, value.to(y.dtype.element_ty), mask=inside)


def softmax(x: Tensor) -> Tensor:
    """Softmax over the last dimension, computed in float32; shape and dtype of x, contiguous.

    x: (..., columns), float32, float16 or bfloat16, contiguous or not (then it is copied first).
    A row of nothing but -inf becomes NaN, as with torch.softmax. Raises TypeError for other
    dtypes and ValueError for a scalar.
    """
    if x.dtype not in DTYPES:
        raise TypeError(f"softmax takes float32, float16 or bfloat16, not {x.dtype}")
    if not x.dim():
        raise ValueError("softmax takes rows, not a scalar")
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        _launch(x, y, x.numel() // x.shape[-1], x.shape[-1])
    return y


def _launch(x: Tensor, y: Tensor, rows: int, columns: int) -> None:
    block = min(triton.next_power_of_2(columns), LONGEST_BLOCK)
    tile_rows = max(1, SHORTEST_TILE // block)
    early = (columns - 1) // block
    _softmax_kernel[(triton.cdiv(rows, tile_rows),)](
        x, y, rows, columns, early,
        ROWS=tile_rows, BLOCK=block, LONG=early > 0, WHOLE=columns % block == 0,
        num_warps=max(4, block // (32 * ELEMENTS_PER_THREAD)),
    )  # fmt: skip
