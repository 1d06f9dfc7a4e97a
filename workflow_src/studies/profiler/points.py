"""What the profiler study measures: the forward pass where the host sets its time, or doesn't."""

from workflow_src.common.schema import NOT_NEGATIVE, POSITIVE, TEXT, YES_OR_NO, choice, mapping
from workflow_src.studies.models import MODELS, models
from workflow_src.studies.study import Row, Settings

SIZES = {"small": ("tiny",), "full": ("small", "large")}
CONTEXTS = {"small": (32,), "full": (128, 512)}
PRECISIONS = {"small": ("fp32",), "full": ("bf16",)}
PAIRS = {"small": 3, "full": 5}
BATCH = 4
WARMUP_STEPS, STEPS = 3, 10

POINT = mapping(
    MODELS
    | {
        "case": TEXT,
        "size": TEXT,
        "precision": choice(("fp32", "bf16")),
        "profiler": choice(("nsys", "torch")),
        "processes": POSITIVE | {"maximum": 1000},
        "warmup_steps": NOT_NEGATIVE,
        "steps": POSITIVE,
    },
    {"profiled": YES_OR_NO, "process": NOT_NEGATIVE},
)
"""The schema of a point; with `profiled`, of one of its processes."""


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """A point per configured size, context and precision, called as the case that it is."""
    about = {"batch": BATCH, "profiler": settings["profiler"], "processes": 2 * PAIRS[scale]}
    about |= {"warmup_steps": WARMUP_STEPS, "steps": STEPS}
    return [
        {"point": case, "case": case, "size": size, "context": context, "precision": precision}
        | models(settings, [size])
        | about
        for size in SIZES[scale]
        if size in settings["sizes"]
        for context in CONTEXTS[scale]
        for precision in PRECISIONS[scale]
        if (case := f"{size}-ctx{context}-{precision}")
    ]
