"""Softmax over rows as one Triton kernel, which reads each row once and keeps it in registers.

Its gradient is one kernel as well: dx = y (g - sum(g y)) for the result y and its gradient g.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

LONGEST = 2**15
"""Elements of a row that a program holds in registers."""

TILE_BYTES = 4096
"""Minimum bytes per program: it takes several short rows."""

ELEMENTS_PER_THREAD = 32
LEAST_WARPS, MOST_WARPS = 4, 32


@triton.jit
def _shift(maximum):  # type: ignore[no-untyped-def]
    # exp(-inf - -inf) is NaN; with a shift of 0, a row of only -inf so far has a sum of zero.
    return tl.where(maximum == float("-inf"), 0.0, maximum)


@triton.jit
def _exp(value):  # type: ignore[no-untyped-def]
    # tl.exp spends three more instructions per element on denormal results.
    return tl.exp2(value * 1.4426950408889634)


@triton.jit  # type: ignore[untyped-decorator]
def _softmax_rows(  # type: ignore[no-untyped-def]
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
def _softmax_gradients(  # type: ignore[no-untyped-def]
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


def softmax(x: Tensor) -> Tensor:
    """Softmax over the last dimension, computed in float32; shape and dtype of x, contiguous.

    x: (..., columns), float32, float16 or bfloat16, contiguous or not (then it is copied first).
    A row of only -inf becomes NaN, as with torch.softmax.
    """
    x = x.contiguous()
    return _made_by(_softmax_rows, x, torch.empty_like(x))


def _made_by(kernel: Any, *tensors: Tensor) -> Tensor:
    """The last of some tensors of one shape, which a kernel makes of the others: it holds those.

    Raises ValueError for rows that are too long.
    """
    made, columns = tensors[-1], tensors[-1].shape[-1]
    if not made.numel():
        return made
    if columns > LONGEST:
        raise ValueError(f"softmax in Triton takes rows of at most {LONGEST}, not {columns}")
    rows, block = made.numel() // columns, triton.next_power_of_2(columns)
    held = (len(tensors) - 1) * block
    warps = min(MOST_WARPS, max(LEAST_WARPS, held // (32 * ELEMENTS_PER_THREAD)))
    tile = max(1, TILE_BYTES // made.element_size() // block)
    programs = (triton.cdiv(rows, tile),)
    kernel[programs](*tensors, rows, columns, ROWS=tile, BLOCK=block, num_warps=warps)
    return made


class _Softmax(torch.autograd.Function):
    """`softmax`, which autograd can differentiate."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = softmax(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return softmax_gradient(y, gradients[0])


def differentiable_softmax(x: Tensor) -> Tensor:
    """`softmax`, which autograd can differentiate."""
    result: Tensor = _Softmax.apply(x)  # type: ignore[no-untyped-call]
    return result


def softmax_gradient(y: Tensor, g: Tensor) -> Tensor:
    """The gradient of softmax's input, from its result y (contiguous) and the result's gradient g.

    All of one shape, (..., columns), and of one dtype, computed in float32.
    """
    return _made_by(_softmax_gradients, y, g.contiguous(), torch.empty_like(y))
