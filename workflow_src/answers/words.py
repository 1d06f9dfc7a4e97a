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
