"""Words that answers, cards and the report share: each code has its word here, and only here."""

from workflow_src.common import remedies
from workflow_src.render.markdown import DASH

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
    "not_comparable": "not comparable",
    "fused": "fused",
    "": DASH,
}
"""What a cell without a value says, by the state of its phase."""

PHASES = {
    "forward": "forward",
    "forward_backward": "forward + backward",
    "train_step": "training step",
}

AXES = {
    "size": "size",
    "context": "context",
    "batch": "batch",
    "precision": "precision",
    "attention": "attention",
    "optimizer": "optimizer",
}

OPTIMIZERS, ATTENTIONS = remedies.OPTIMIZERS, remedies.ATTENTIONS

REMEDIES = {
    "launches": "fewer launches",
    "precision": "lower precision",
    "optimizer": "fused optimizer",
    "attention": "fused attention",
    "casts": "fewer casts",
}
"""What can be changed first; the keys are those of change_first/savings.py's Remedy."""

PRODUCTS = {
    "qkv": "q/k/v projections",
    "scores": "QK^T",
    "values": "AV",
    "output": "attention output projection",
    "gate": "feed-forward gate",
    "up": "feed-forward up",
    "down": "feed-forward down",
    "gate or up": "feed-forward gate or up",
    "head": "output head",
}
"""The model's matrix products, in the order in which it runs them."""

PARTS = {"forward": "forward", "backward": "backward", **PHASES}
"""The parts of a step: its phases, and backward, which is part of forward + backward."""
