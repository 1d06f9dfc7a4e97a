"""The remedies of the study levers in words, for its section and for the answers."""

REMEDY_WORDS = {
    "fused_softmax": "torch's softmax",
    "triton_softmax": "the Triton softmax",
    "sdpa": "sdpa",
    "foreach": "foreach AdamW",
    "fused": "fused AdamW",
    "bf16": "bf16 autocast",
    "bf16_weights": "bf16 weights",
    "graph": "a CUDA graph",
    "compile": "torch.compile",
    "batch_x2": "twice the batch",
}
"""By the name in the column remedies of the study's table, where "+" joins several."""


def in_words(name: str) -> str:
    """A remedy in words; its name, if a table of another version has one that isn't known here."""
    return REMEDY_WORDS.get(name, name)
