"""Arranges a model's blocks so that parts of them are checkpointed; its weights stay."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from workflow_src.common.components import PER_BLOCK
from workflow_src.model.transformer import Block, TransformerLM


class Sublayer(nn.Module):
    """Half a block: the residual stream plus what a layer makes of it, normalized."""

    def __init__(self, norm: nn.Module, layer: nn.Module) -> None:
        super().__init__()
        self.norm = norm
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        """(batch, T, d_model) -> (batch, T, d_model)."""
        added: Tensor = x + self.layer(self.norm(x))
        return added


def checkpointed(run: nn.Module, x: Tensor) -> Tensor:
    """run(x), of which x alone is kept, and all else is computed again for the backward pass.

    Chen et al. 2016, "Training deep nets with sublinear memory cost". There is no dropout whose
    random numbers would have to be kept.
    """
    out: Tensor = checkpoint(run, x, use_reentrant=False, preserve_rng_state=False)
    return out


class Checkpointed(nn.Module):
    """Sublayers one after another, checkpointed as one."""

    def __init__(self, sublayers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.inside = nn.Sequential(*sublayers)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, T, d_model) -> (batch, T, d_model)."""
        return checkpointed(self.inside, x)


class Halved(nn.Module):
    """Blocks of which each half is checkpointed, and each half of that, down to a single block."""

    def __init__(self, sublayers: Sequence[nn.Module]) -> None:
        super().__init__()
        blocks = len(sublayers) // PER_BLOCK
        middle = blocks // 2 * PER_BLOCK
        parts = (sublayers[:middle], sublayers[middle:])
        self.parts = nn.ModuleList(
            Halved(part) if len(part) > PER_BLOCK else nn.Sequential(*part)
            for part in parts
            if part
        )

    def forward(self, x: Tensor) -> Tensor:
        """(batch, T, d_model) -> (batch, T, d_model)."""
        for part in self.parts:
            x = checkpointed(part, x)
        return x


def _halves(block: nn.Module) -> tuple[Sublayer, Sublayer]:
    assert isinstance(block, Block)
    attention = Sublayer(block.attention_norm, block.attention)
    return attention, Sublayer(block.feed_forward_norm, block.feed_forward)


@contextmanager
def arranged(model: nn.Module, sublayers: int, nested: bool) -> Iterator[None]:
    """While inside, every `sublayers` sublayers of the model are checkpointed as one; 0 for none.

    The last may be fewer. nested: halves of halves are, instead.
    """
    assert isinstance(model, TransformerLM)
    before = model.blocks
    every = [half for block in before for half in _halves(block)]
    if nested:
        model.blocks = nn.ModuleList([Halved(every)])
    elif sublayers:
        starts = range(0, len(every), sublayers)
        model.blocks = nn.ModuleList(Checkpointed(every[n : n + sublayers]) for n in starts)
    try:
        yield
    finally:
        model.blocks = before
