"""RMSNorm: scale each vector to unit root mean square, then multiply by a learned gain."""

import torch
from torch import Tensor, nn

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
