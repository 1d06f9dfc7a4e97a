"""The remedies whose effect on a step can be predicted."""

REMEDIES = ("bf16", "tf32", "sdpa", "foreach", "fused", "compile", "graph")
"""In the order in which they are put on top of each other, listed, and joined by "+"."""

GRAPH = "graph"


def counts_in_graph(optimizer: str) -> bool:
    """Whether an optimizer trains in a CUDA graph, too.

    AdamW written out (model/adamw.py) counts steps on the host: a replay takes its time, but
    doesn't train.
    """
    return optimizer != "adamw"
