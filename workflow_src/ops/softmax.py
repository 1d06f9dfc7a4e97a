"""Softmax over rows as one Triton kernel, for rows of any length.

A row that fits in one block is read once. In a longer row, all blocks but the last are read
twice: first for the row's maximum and the sum of its exponentials, updated block by block
(Milakov & Gimelshein 2018, "Online normalizer calculation for softmax"), then again for the
result, ideally from a cache. The last block stays in registers.

Its gradient is one kernel as well: dx = y (g - sum(g y)) for the result y and its gradient g, both
read once, or twice in rows that don't fit.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

LONGEST_BLOCK = {4: 32768, 2: 16384}
"""Row elements that one Triton program holds in registers, by bytes per element.

With 16-bit elements two programs share an SM, so that one reads while the other computes. With
32-bit elements reading takes so much longer that one program with twice the block is better: it
reads less a second time.
"""

REGISTERS = 64
"""Registers per thread in the kernel for long rows: the most with two programs per SM."""

TILE_BYTES = 4096
"""Minimum bytes per program: short rows are processed several at once."""

ACCESS_BYTES = 16
ELEMENTS_PER_THREAD = 32
LEAST_WARPS = 4


@triton.jit
def _shift(maximum):  # type: ignore[no-untyped-def]
    # exp(-inf - -inf) is NaN; with a shift of 0, a row of only -inf so far has a sum of zero.
    return tl.where(maximum == float("-inf"), 0.0, maximum)


@triton.jit
def _exp(value):  # type: ignore[no-untyped-def]
    # tl.exp spends three more instructions per element on denormal results.
    return tl.exp2(value * 1.4426950408889634)


@triton.jit  # type: ignore[untyped-decorator]
def _softmax_short_rows(  # type: ignore[no-untyped-def]
    x, y, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    first = tl.program_id(0) * ROWS
    row, column = tl.arange(0, ROWS), tl.arange(0, BLOCK)
    # 64 bits up to the first row because a tensor may have more than 2^31 elements; then 32.
    x += first.to(tl.int64) * columns
    y += first.to(tl.int64) * columns
    at = row[:, None] * columns + column[None, :]
    inside = (first + row < rows)[:, None] & (column < columns)[None, :]
    value = tl.load(x + at, mask=inside, other=float("-inf")).to(tl.float32)
    value = _exp(value - _shift(tl.max(value, axis=1))[:, None])
    value *= (1.0 / tl.sum(value, axis=1))[:, None]
    tl.store(y + at, value.to(y.dtype.element_ty), mask=inside)


@triton.jit  # type: ignore[untyped-decorator]
def _softmax_long_rows(  # type: ignore[no-untyped-def]
    x, y, columns, early, LANES: tl.constexpr, LANE: tl.constexpr, WHOLE: tl.constexpr
):  # fmt: skip
    # A lane is one access of one thread. It keeps its own maximum and sum until the end of the row,
    # so that no thread waits for another between blocks.
    block: tl.constexpr = LANES * LANE
    x += tl.program_id(0).to(tl.int64) * columns
    y += tl.program_id(0).to(tl.int64) * columns
    start = tl.arange(0, LANES)[:, None] * LANE + tl.arange(0, LANE)[None, :]
    maximum = tl.full([LANES], float("-inf"), tl.float32)
    total = tl.zeros([LANES], tl.float32)
    for number in range(early):
        # Blocks that are read again stay in the L1 cache; the last block bypasses it.
        value = tl.load(x + start + number * block, eviction_policy="evict_last").to(tl.float32)
        higher = tl.maximum(maximum, tl.max(value, axis=1))
        shift = _shift(higher)
        total = total * _exp(maximum - shift)
        total += tl.sum(_exp(value - shift[:, None]), axis=1)
        maximum = higher

    last = start + early * block
    if WHOLE:
        read = tl.load(x + last, cache_modifier=".cg")
    else:
        read = tl.load(x + last, mask=last < columns, other=float("-inf"), cache_modifier=".cg")
    value = read.to(tl.float32)
    higher = tl.maximum(maximum, tl.max(value, axis=1))
    shift = _shift(higher)
    value = _exp(value - shift[:, None])
    total = total * _exp(maximum - shift) + tl.sum(value, axis=1)

    row_shift = _shift(tl.max(higher, axis=0))
    to_row = _exp(higher - row_shift)
    scale = 1.0 / tl.sum(total * to_row, axis=0)
    result = (value * (to_row * scale)[:, None]).to(y.dtype.element_ty)
    if WHOLE:
        tl.store(y + last, result, cache_modifier=".cs")
    else:
        tl.store(y + last, result, mask=last < columns, cache_modifier=".cs")
    for number in range(early):
        again = start + number * block
        value = tl.load(x + again, eviction_policy="evict_first").to(tl.float32)
        value = _exp(value - row_shift) * scale
        tl.store(y + again, value.to(y.dtype.element_ty), cache_modifier=".cs")


@triton.jit  # type: ignore[untyped-decorator]
def _softmax_short_gradients(  # type: ignore[no-untyped-def]
    y, g, dx, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    first = tl.program_id(0) * ROWS
    row, column = tl.arange(0, ROWS), tl.arange(0, BLOCK)
    start = first.to(tl.int64) * columns
    at = row[:, None] * columns + column[None, :]
    inside = (first + row < rows)[:, None] & (column < columns)[None, :]
    result = tl.load(y + start + at, mask=inside, other=0.0).to(tl.float32)
    gradient = tl.load(g + start + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(result * gradient, axis=1)
    found = result * (gradient - mean[:, None])
    tl.store(dx + start + at, found.to(dx.dtype.element_ty), mask=inside)


@triton.jit  # type: ignore[untyped-decorator]
def _softmax_long_gradients(  # type: ignore[no-untyped-def]
    y, g, dx, columns, blocks, BLOCK: tl.constexpr
):  # fmt: skip
    start = tl.program_id(0).to(tl.int64) * columns
    lane = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for number in range(blocks):
        at = number * BLOCK + lane
        result = tl.load(y + start + at, mask=at < columns, other=0.0).to(tl.float32)
        total += result * tl.load(g + start + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0)
    for number in range(blocks):
        at = number * BLOCK + lane
        result = tl.load(y + start + at, mask=at < columns, other=0.0).to(tl.float32)
        gradient = tl.load(g + start + at, mask=at < columns, other=0.0).to(tl.float32)
        found = result * (gradient - mean)
        tl.store(dx + start + at, found.to(dx.dtype.element_ty), mask=at < columns)


def softmax(x: Tensor) -> Tensor:
    """Softmax over the last dimension, computed in float32; shape and dtype of x, contiguous.

    x: (..., columns), float32, float16 or bfloat16, contiguous or not (then it is copied first).
    A row of only -inf becomes NaN, as with torch.softmax.
    """
    x = x.contiguous()
    y = torch.empty_like(x)
    if not x.numel():
        return y
    rows, columns = x.numel() // x.shape[-1], x.shape[-1]
    block, warps, tile = _program(columns, x.element_size(), 1)
    if columns <= block:
        _softmax_short_rows[(triton.cdiv(rows, tile),)](
            x, y, rows, columns, ROWS=tile, BLOCK=block, num_warps=warps
        )
        return y
    lane = ACCESS_BYTES // x.element_size()
    _softmax_long_rows[(rows,)](
        x, y, columns, (columns - 1) // block,
        LANES=block // lane, LANE=lane, WHOLE=columns % block == 0,
        num_warps=warps, maxnreg=REGISTERS,
    )  # fmt: skip
    return y


def _program(columns: int, itemsize: int, tensors: int) -> tuple[int, int, int]:
    """A program's elements of a row, its warps and its rows, where it holds so many tensors."""
    block = min(triton.next_power_of_2(columns), LONGEST_BLOCK[itemsize] // tensors)
    warps = max(LEAST_WARPS, tensors * block // (32 * ELEMENTS_PER_THREAD))
    return block, warps, max(1, TILE_BYTES // itemsize // block)


class _Softmax(torch.autograd.Function):
    """`softmax`, which autograd can differentiate."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """The softmax of x's rows; kept for backward."""
        y = softmax(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        """The gradient of x, from that of the result."""
        (y,) = ctx.saved_tensors
        return softmax_gradient(y, gradients[0])


def differentiable_softmax(x: Tensor) -> Tensor:
    """`softmax`, of which autograd knows the gradient; the same shapes and dtypes."""
    result: Tensor = _Softmax.apply(x)  # type: ignore[no-untyped-call]
    return result


def softmax_gradient(y: Tensor, g: Tensor) -> Tensor:
    """The gradient of softmax's input, from its result y (contiguous) and the result's gradient g.

    All of one shape, (..., columns), and of one dtype, computed in float32.
    """
    g, dx = g.contiguous(), torch.empty_like(y)
    if not y.numel():
        return dx
    rows, columns = y.numel() // y.shape[-1], y.shape[-1]
    block, warps, tile = _program(columns, y.element_size(), 2)
    if columns <= block:
        _softmax_short_gradients[(triton.cdiv(rows, tile),)](
            y, g, dx, rows, columns, ROWS=tile, BLOCK=block, num_warps=warps
        )
        return dx
    _softmax_long_gradients[(rows,)](
        y, g, dx, columns, triton.cdiv(columns, block), BLOCK=block, num_warps=warps
    )
    return dx
