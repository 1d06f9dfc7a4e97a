"""How attention, the optimizer and the remedies of the study levers are called."""

OPTIMIZERS = {"adamw": "AdamW written out", "foreach": "foreach AdamW", "fused": "fused AdamW"}

ATTENTIONS = {
    "naive": "written out",
    "fused_softmax": "torch's softmax",
    "triton_softmax": "softmax in Triton",
    "sdpa": "fused attention",
}

REMEDY_WORDS = {
    "fused_softmax": ATTENTIONS["fused_softmax"],
    "triton_softmax": ATTENTIONS["triton_softmax"],
    "sdpa": ATTENTIONS["sdpa"],
    "foreach": OPTIMIZERS["foreach"],
    "fused": OPTIMIZERS["fused"],
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
