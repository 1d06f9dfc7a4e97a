"""What the precision study measures: rounding and dtypes once, and the times of models."""

from workflow_src.common.precisions import PRECISIONS as CASE_PRECISIONS
from workflow_src.common.schema import (
    AMOUNT,
    NOT_NEGATIVE,
    POSITIVE,
    YES_OR_NO,
    choice,
    listed,
    mapping,
)
from workflow_src.studies.models import MODELS, models
from workflow_src.studies.study import Row, Settings

FULL = {"cpu": ("fp32",), "cuda": ("fp32", "tf32")}
AUTOCAST = "bf16"
PROFILED = ("fp32", AUTOCAST)
"""Not tf32: it launches what fp32 does, and profiling takes longer than timing."""

GROUPS = {"small": (("tiny",),), "full": (("small", "medium", "large"), ("xl", "2.7B"))}
CONTEXTS = {"small": 128, "full": 512}
BATCH = 4
WARMUP_STEPS = 2
STEPS = {"forward": 6, "forward_backward": 6, "scores": 20}

ADDEND = 0.01
ADDITIONS = 1000

LAYER_NORM = {"rows": 256, "width": 1024, "deviations": [1.0, 300.0]}
"""The input of LayerNorm: the square of the larger standard deviation is beyond fp16's 65,504."""

OVERFLOWS = "overflows"
"""What is said of a variance that isn't finite."""


POINT = mapping(
    MODELS
    | {
        "numerics": YES_OR_NO,
        "addend": AMOUNT,
        "additions": POSITIVE,
        "layer_norm": mapping({"rows": POSITIVE, "width": POSITIVE, "deviations": listed(AMOUNT)}),
        "precisions": listed(choice(CASE_PRECISIONS)),
        "profiled": {"type": "array", "items": choice(CASE_PRECISIONS)},
        "warmup_steps": NOT_NEGATIVE,
        "steps": mapping(dict.fromkeys(STEPS, POSITIVE)),
    }
)
"""The schema of a point."""


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """A point per group of sizes; the first also measures rounding and dtypes (`numerics`)."""
    groups = [models(settings, names) for names in GROUPS[scale]]
    return [
        {
            "point": "-".join(group["sizes"]) or "numerics",
            **group,
            "numerics": number == 0,
            "addend": ADDEND,
            "additions": ADDITIONS,
            "layer_norm": dict(LAYER_NORM),
            "precisions": [*FULL[device], AUTOCAST],
            "profiled": list(PROFILED),
            "context": CONTEXTS[scale],
            "batch": BATCH,
            "warmup_steps": WARMUP_STEPS,
            "steps": dict(STEPS),
        }
        for number, group in enumerate(groups)
        if group["sizes"] or number == 0
    ]
