"""The remedies whose effect on a step can be predicted."""

REMEDIES = ("bf16", "tf32", "sdpa", "foreach", "fused", "compile", "graph")
"""In the order in which they are put on top of each other, listed, and joined by "+"."""
