"""The ways in which the study levers runs a case: plain, and with remedies alone and combined."""

from dataclasses import dataclass
from typing import Any

import msgspec

from workflow_src.studies.study import Point

PLAIN = "plain"

BATCH = 4
"""Each case's; see points.yaml."""


@dataclass(frozen=True)
class Variant:
    """A way to run a case. remedies: those it combines, in order.

    Attention and optimizer are as in a case; precision "" is the case's own; bf16_weights:
    parameters kept in bfloat16, without autocast; graph: replayed as a CUDA graph; compiled: the
    model under torch.compile; batches: how many times the case's batch.
    """

    name: str = PLAIN
    remedies: tuple[str, ...] = ()
    attention: str = "naive"
    optimizer: str = "adamw"
    precision: str = ""
    bf16_weights: bool = False
    graph: bool = False
    compiled: bool = False
    batches: int = 1

    @classmethod
    def of(cls, point: Point) -> "Variant":
        """The variant in a point read from JSON; fields of other versions are left out."""
        return msgspec.convert(point["variant"], cls)


REMEDIES: dict[str, dict[str, Any]] = {
    "fused_softmax": {"attention": "fused_softmax"},
    "triton_softmax": {"attention": "triton_softmax"},
    "sdpa": {"attention": "sdpa"},
    "foreach": {"optimizer": "foreach"},
    "fused": {"optimizer": "fused"},
    "bf16": {"precision": "bf16"},
    "bf16_weights": {"precision": "bf16", "bf16_weights": True},
    "graph": {"graph": True},
    "compile": {"compiled": True},
    "batch_x2": {"batches": 2},
}
"""What each remedy sets, alone or on top of others."""

STACK = {
    "cuda": ("bf16", "sdpa", "fused", "graph", "compile"),
    "cpu": ("bf16", "sdpa", "fused"),
}
"""The order in which remedies are put on top of each other: what pays most on a GPU first, but what
needs another one after it (a graph of the whole step needs the fused optimizer), and compiling
last. What changes training itself, weights in bf16 or another batch, is tried alone. A CPU has no
CUDA graphs, and compiles only the plain model: it takes longer than all the rest."""


def combined(*remedies: str) -> Variant:
    """The variant with these remedies, each put on those before; named after the last."""
    if not remedies:
        return Variant()
    name = f"then_{remedies[-1]}" if len(remedies) > 1 else remedies[0]
    set_ = {field: value for remedy in remedies for field, value in REMEDIES[remedy].items()}
    return Variant(name, remedies, **set_)


def stack(precision: str, device: str) -> list[Variant]:
    """The plain variant, and each with one more remedy than the one before."""
    usable = [each for each in STACK[device] if (each, precision) != ("bf16", "bf16")]
    return [combined(*usable[:end]) for end in range(len(usable) + 1)]


def variants(precision: str, device: str) -> list[Variant]:
    """All variants of a case: plain, each remedy alone, then the rest of the stack."""
    alone = [combined(each) for each in REMEDIES if (each, precision) != ("bf16", "bf16")]
    return [Variant(), *alone, *stack(precision, device)[2:]]
