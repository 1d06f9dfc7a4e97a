"""The model's components in words: what the name of a range stands for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Component:
    """A component's name in tables, and how a sentence calls the matrix products in it."""

    name: str
    product: str = ""

    @property
    def place(self) -> str:
        """The component as a place: "in {place}"."""
        return self.product or self.name


COMPONENTS = {
    "embedding": Component("embedding"),
    "norm": Component("norms"),
    "qkv": Component("q/k/v projections"),
    "rotary": Component("rotary positions"),
    "scores": Component("scores and mask", "QK^T"),
    "softmax": Component("softmax"),
    "values": Component("values", "AV"),
    "sdpa": Component("fused attention"),
    "output": Component("attention output projection"),
    "attention": Component("attention, elsewhere"),
    "feed_forward": Component("feed-forward"),
    "block": Component("residual additions"),
    "head": Component("output head"),
    "forward": Component("elsewhere"),
    "loss": Component("loss"),
    "backward": Component("backward"),
}
"""Components by the name of their range, in the order in which the model runs them.

The model's blocks hold nothing besides their sublayers but the two residual additions.
"""
