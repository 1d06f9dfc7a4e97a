"""All implementations of GeLU and softmax, and a copy of the same bytes."""

import math
from collections.abc import Callable
from functools import cache, partial

import torch
from torch import Tensor
from torch.nn import functional

from workflow_src.common.errors import UnavailableError
from workflow_src.measure.compiling import NO_COMPILER, compiler_is_missing
from workflow_src.model.attention import fused_softmax, written_out_softmax
from workflow_src.ops.cuda import build_gelu

Operation = Callable[[Tensor], Tensor]


def written_out_gelu(x: Tensor) -> Tensor:
    """GeLU, tanh form (Hendrycks & Gimpel 2016), in eight operations; same shape as x."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + torch.tanh(inner))


def torchs_gelu(x: Tensor) -> Tensor:
    """PyTorch's own GeLU, tanh form; same shape as x."""
    return functional.gelu(x, approximate="tanh")


PLAIN: dict[str, dict[str, Operation]] = {
    "gelu": {"written_out": written_out_gelu, "torch": torchs_gelu},
    "softmax": {"written_out": written_out_softmax, "torch": fused_softmax},
}
"""The implementations that need no compiling, by operation."""

EXACT: dict[str, Operation] = {
    "gelu": torchs_gelu,
    "softmax": partial(torch.softmax, dim=-1),
    "copy": lambda x: x,
}
"""The reference for the result of an operation or a copy, to be computed in float64."""


def copy(x: Tensor) -> Operation:
    """A function that copies a tensor like x into a preallocated one."""
    out = torch.empty_like(x)
    return lambda source: out.copy_(source)


def compiled_gelu(device: str) -> Operation:
    """torch.compile of the written-out GeLU, specialized to the only shape that it will see.

    Raises UnavailableError on a CPU without a C++ compiler.
    """
    if compiler_is_missing(device):
        raise UnavailableError(NO_COMPILER[device])
    # After eight shapes of one function, torch.compile would silently stop compiling it.
    torch.compiler.reset()
    compiled: Operation = torch.compile(written_out_gelu, fullgraph=True, dynamic=False)
    return compiled


def triton_kernel(operation: str, device: str) -> Operation:
    """The Triton kernel of an operation. Raises UnavailableError if Triton can't run."""
    if device != "cuda":
        raise UnavailableError("Triton compiles only for GPUs")
    # Imported here, because only the CUDA builds of PyTorch include Triton.
    try:
        from workflow_src.ops.gelu import gelu
        from workflow_src.ops.softmax import softmax
    except ImportError as error:
        raise UnavailableError("Triton is not installed") from error
    return {"gelu": gelu, "softmax": softmax}[operation]


@cache
def cuda_gelu() -> Operation:
    """The CUDA C++ kernel, built once. Raises UnavailableError if it can't be built."""
    return build_gelu()


def build(operation: str, implementation: str, x: Tensor) -> Operation:
    """An implementation of an operation for tensors like x.

    Raises UnavailableError if it can't run here.
    """
    if implementation in PLAIN[operation]:
        return PLAIN[operation][implementation]
    device = x.device.type
    builders: dict[str, Callable[[], Operation]] = {
        "copy": partial(copy, x),
        "compiled": partial(compiled_gelu, device),
        "triton": partial(triton_kernel, operation, device),
        "cuda": cuda_gelu,
    }
    return builders[implementation]()
