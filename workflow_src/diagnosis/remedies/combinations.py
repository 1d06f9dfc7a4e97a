"""Which remedies, and which of their combinations, change a case."""

from collections.abc import Iterator

from workflow_src.common.remedies import GRAPH

COMPILE = "compile"

STACKS = (
    ("bf16",),
    ("bf16", "sdpa"),
    ("bf16", "sdpa", "fused"),
    ("bf16", "sdpa", "fused", COMPILE),
    ("bf16", "sdpa", "fused", GRAPH),
    ("bf16", "sdpa", "fused", COMPILE, GRAPH),
)
"""What is put on top of each other, as far as it changes the case."""


def remedies_for(precision: str, attention: str, optimizer: str) -> list[str]:
    """The remedies that change a case, in their order."""
    return [
        *(["bf16"] if precision in ("fp32", "tf32") else []),
        *(["tf32"] if precision == "fp32" else []),
        *([] if attention == "sdpa" else ["sdpa"]),
        *(["foreach"] if optimizer == "adamw" else []),
        *([] if optimizer == "fused" else ["fused"]),
        *(COMPILE, GRAPH),
    ]


def combinations(precision: str, attention: str, optimizer: str) -> list[tuple[str, ...]]:
    """Each remedy alone, each with a graph, sdpa with fused, and the growing stack."""
    given = remedies_for(precision, attention, optimizer)
    return list(dict.fromkeys(_in_turn(given)))


def _in_turn(given: list[str]) -> Iterator[tuple[str, ...]]:
    for remedy in given:
        yield (remedy,)
    for remedy in given:
        if remedy != GRAPH:
            yield (remedy, GRAPH)
    for stack in (("sdpa", "fused"), *STACKS):
        chosen = tuple(remedy for remedy in stack if remedy in given)
        if chosen:
            yield chosen
