"""What each remedy changes in a step."""

from collections.abc import Callable, Sequence

from workflow_src.diagnosis.remedies.attention import fuse_attention
from workflow_src.diagnosis.remedies.fewer_launches import fuse_chains, graph
from workflow_src.diagnosis.remedies.precision import narrow
from workflow_src.diagnosis.remedies.trial import Trial
from workflow_src.diagnosis.remedies.update import update

EFFECTS: dict[str, Callable[[Trial], None]] = {
    "bf16": narrow("bf16"),
    "tf32": narrow("tf32"),
    "sdpa": fuse_attention,
    "foreach": update("foreach"),
    "fused": update("fused"),
    "compile": fuse_chains,
    "graph": graph,
}
"""What each of REMEDIES changes of a step."""


def applied(trial: Trial, remedies: Sequence[str]) -> Trial:
    """The step with remedies. Raises NotKnownError if one's effect can't be told."""
    for remedy in remedies:
        EFFECTS[remedy](trial)
    return trial
