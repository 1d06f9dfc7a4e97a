"""GeLU as one Triton kernel, which reads and writes device memory once."""

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK_BYTES = 4096
"""Bytes that a Triton program reads: two accesses of 16 bytes by each of its 128 threads.

One access in flight for each of an SM's 2048 threads only just hides an H100's memory latency;
two leave a margin, and more cost registers.
"""

NUM_WARPS = 4


@triton.jit  # type: ignore[untyped-decorator]
def _gelu_kernel(x, y, elements, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    # 64 bits because a tensor may have more than 2^31 elements; within a block 32 are enough.
    start = tl.program_id(0).to(tl.int64) * BLOCK
    lane = tl.arange(0, BLOCK)
    here = lane < elements - start
    value = tl.load(x + start + lane, mask=here).to(tl.float32)
    inner = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    # (1 + tanh u) / 2 = 1 / (1 + exp(-2u)), which needs no branch and can't overflow to NaN.
    result = value / (1.0 + tl.exp(-2.0 * inner))
    tl.store(y + start + lane, result.to(y.dtype.element_ty), mask=here)


def gelu(x: Tensor) -> Tensor:
    """GeLU (tanh form) of each element, computed in float32; shape and dtype of x, contiguous.

    x: any shape, float32, float16 or bfloat16, contiguous or not (then it is copied first).
    """
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        block = BLOCK_BYTES // x.element_size()
        grid = (triton.cdiv(x.numel(), block),)
        _gelu_kernel[grid](x, y, x.numel(), BLOCK=block, num_warps=NUM_WARPS)
    return y
