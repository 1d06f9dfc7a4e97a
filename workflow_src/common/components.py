"""The model's components in words: what the name of a range stands for."""

from collections import Counter
from collections.abc import Iterable

from workflow_src.common.case import PHASES

COMPONENTS = {
    "embedding": "embedding",
    "norm": "norms",
    "qkv": "q/k/v projections",
    "rotary": "rotary positions",
    "scores": "scores and mask",
    "softmax": "softmax",
    "values": "values",
    "sdpa": "fused attention",
    "own_attention": "attention of one's own",
    "output": "attention output projection",
    "attention": "attention, elsewhere",
    "feed_forward": "feed-forward",
    "block": "residual additions",
    "head": "output head",
    "compiled": "compiled model",
    "forward": "elsewhere",
    "loss": "loss",
    "backward": "backward",
    "optimizer": "optimizer",
    "zero_grad": "zero grad",
}
"""By the name of their range, in the model's order."""

IN_SENTENCES = {"scores and mask": "QK^T", "values": "AV"}
"""How a sentence calls a component's matrix products, if not by its name."""


def module_of(path: str) -> tuple[str, ...]:
    """The ranges of a path inside its phase and forward pass: a module's, whatever the phase."""
    parts = path.split("/")
    parts = parts[1:] if parts[0] in PHASES else parts
    return tuple(parts[1:] if parts[:1] == ["forward"] else parts)


def told_apart(paths: Iterable[str]) -> dict[str, str]:
    """The shortest end of each path that no other module's has: "attn.c_proj" and "mlp.c_proj"."""
    modules = {path: module_of(path) for path in paths}
    every = set(modules.values())
    ends = Counter(each[-length:] for each in every for length in range(1, len(each) + 1))

    def name(path: str, module: tuple[str, ...]) -> str:
        lengths = range(1, len(module))
        own = next((n for n in lengths if ends[module[-n:]] == 1), len(module))
        return ".".join(module[-own:]) if module else path.rpartition("/")[2]

    return {path: name(path, module) for path, module in modules.items()}


PER_BLOCK = 2
"""Sublayers of a block: attention and feed-forward."""
