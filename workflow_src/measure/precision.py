"""Precisions of matrix products: their types, TF32, and what a device can't do.

Apart from the workload, which imports torch's compiler: that takes seconds.
"""

from contextlib import AbstractContextManager, nullcontext

import torch

from workflow_src.common.precisions import DECLARED, NARROW

AUTOCAST: dict[str, torch.dtype] = {
    name: getattr(torch, DECLARED[name].autocast) for name in NARROW
}
"""The type in which matrix products run under autocast."""


def autocast(precision: str, device: str) -> AbstractContextManager[object]:
    """Around a model in `precision`; nothing in float32."""
    dtype = AUTOCAST.get(precision)
    return torch.autocast(device, dtype=dtype) if dtype else nullcontext()


def use_precision(precision: str) -> None:
    """Allow TF32 tensor cores in float32 matrix products for "tf32", and forbid them otherwise."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


def unsupported(precision: str, device: str) -> str:
    """Why this device can't multiply in `precision`; empty if it can."""
    needs = DECLARED[precision].capability
    if needs is None or (device == "cuda" and torch.cuda.get_device_capability() >= needs):
        return ""
    return f"{precision} needs a CUDA device of compute capability {needs[0]}.{needs[1]} or later"
