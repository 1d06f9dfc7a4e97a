"""Rotary position embedding: rotate feature pairs by angles that grow with the position."""

import torch
from torch import Tensor, nn


class RotaryEmbedding(nn.Module):
    """Rotary position embedding (Su et al. 2021) of queries or keys.

    Features 2i and 2i+1 at position t are rotated by t * theta^(-2i / d_head) radians, so that
    positions affect the product of a query and a key only through their distance.
    (..., T, d_head) -> (..., T, d_head), in the input's dtype, for T <= context.
    Raises ValueError for an odd d_head.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, context: int, d_head: int, theta: float = 10000.0) -> None:
        super().__init__()
        if d_head % 2:
            raise ValueError(f"rotary embedding turns pairs of features: d_head {d_head} is odd")
        exponents = torch.arange(0, d_head, 2, dtype=torch.float64) / d_head
        angles = torch.outer(torch.arange(context, dtype=torch.float64), theta**-exponents)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Rotate x, whose second-to-last dimension is the position."""
        cos, sin = self.cos[: x.shape[-2]], self.sin[: x.shape[-2]]
        even, odd = x.view(*x.shape[:-1], -1, 2).unbind(-1)
        turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
        return turned.flatten(-2).to(x.dtype)
