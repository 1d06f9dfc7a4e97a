"""What the warm-up study measures: first steps, each run of them in its own process."""

from workflow_src.common.schema import NOT_NEGATIVE, POSITIVE, TEXT, mapping
from workflow_src.studies.models import MODELS, models
from workflow_src.studies.study import Row, Settings

WARMUP_STEPS = (0, 1, 5)
SIZES = {"small": ("tiny",), "full": ("small", "large")}
CONTEXTS = {"small": 64, "full": 256}
BATCH = 4
STEPS = 20


POINT = mapping(MODELS | {"size": TEXT, "warmup_steps": NOT_NEGATIVE, "steps": POSITIVE})
"""The schema of a point."""


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """A point per configured model size and number of warm-up steps."""
    context = CONTEXTS[scale]
    return [
        {
            "point": f"{size}-ctx{context}-warmup{warmup_steps}",
            "size": size,
            **models(settings, [size]),
            "context": context,
            "batch": BATCH,
            "warmup_steps": warmup_steps,
            "steps": STEPS,
        }
        for size in SIZES[scale]
        if size in settings["sizes"]
        for warmup_steps in WARMUP_STEPS
    ]
