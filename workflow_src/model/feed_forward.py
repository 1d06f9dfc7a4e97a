"""SwiGLU: the gated feed-forward layer of a block."""

from torch import Tensor, nn
from torch.nn.functional import silu

from workflow_src.model.ranges import range_


class SwiGLU(nn.Module):
    """W2(silu(W1 x) * W3 x) (Shazeer 2020). (..., d_model) -> (..., d_model)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w1 = nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_ff, d_model, bias=False)
        self.w3 = nn.Linear(d_model, d_ff, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Project up, gate, project down."""
        with range_("feed_forward"):
            result: Tensor = self.w2(silu(self.w1(x)) * self.w3(x))
            return result
