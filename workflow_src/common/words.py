"""Words for codes."""

DASH = "\N{EN DASH}"
"""What a cell without a value says."""

STATES = {
    "ok": "measured",
    "oom": "OOM",
    "skipped": "skipped",
    "not_supported": "not supported",
    "not_capturable": "not capturable",
    "failed": "failed",
    "not_measured": "not measured",
    "missing": "not measured",
    "no_activity": "no device activity",
    "not_finite": "not finite",
    "not_comparable": "not comparable",
    "fused": "fused",
    "not_told_apart": "not told apart",
    "no_attention": "no attention",
    "not_known": "not known",
    "": DASH,
}
"""What a cell without a value says, by the state of its phase."""

PHASES = {
    "forward": "forward",
    "forward_backward": "forward + backward",
    "train_step": "training step",
}
"""In cells, in headings, and in the names of a table's rows."""

PHASES_IN_PROSE = {
    "forward": "forward pass",
    "forward_backward": "forward and backward pass",
    "train_step": "training step",
}
"""In sentences: after "the", and after a case's name and a comma."""

OPTIMIZERS = {"adamw": "AdamW written out", "foreach": "foreach AdamW", "fused": "fused AdamW"}

ATTENTIONS = {
    "naive": "written out",
    "fused_softmax": "torch's softmax",
    "triton_softmax": "softmax in Triton",
    "sdpa": "fused attention",
}

VALUES = {"attention": ATTENTIONS, "optimizer": OPTIMIZERS}
"""By the axis that has these values; those of other axes are words."""

PARTS = {"forward": "forward", "backward": "backward", **PHASES}
"""The phases, and backward, which is part of forward + backward."""

REMEDY_WORDS = {
    **ATTENTIONS,
    **OPTIMIZERS,
    "bf16": "bf16 autocast",
    "tf32": "tf32",
    "bf16_weights": "bf16 weights",
    "graph": "a CUDA graph",
    "compile": "torch.compile",
    "batch_x2": "twice the batch",
}
"""By the name in the column remedies of a table, where "+" joins several."""


def in_words(name: str) -> str:
    """A remedy in words; its name, if it is one of another version."""
    return REMEDY_WORDS.get(name, name)
