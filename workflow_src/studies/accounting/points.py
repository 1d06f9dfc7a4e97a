"""What the accounting study measures: a point per precision, with all sizes in one process.

MFU and the roofline compare each size with ceilings measured in the same process.
"""

from workflow_src.common.ceilings import SIZES as CEILINGS
from workflow_src.common.ceilings import SIZES_SCHEMA
from workflow_src.common.precisions import PRECISIONS as CASE_PRECISIONS
from workflow_src.common.schema import NOT_NEGATIVE, POSITIVE, TEXT, choice, mapping
from workflow_src.studies.models import MODELS, models
from workflow_src.studies.study import Row, Settings

MEASURED = {"small": ("tiny",), "full": ("small", "medium", "large", "xl", "2.7B")}
PRECISIONS = {"small": ("fp32",), "full": ("fp32", "bf16")}
CONTEXT = {"small": 256, "full": 512}
BATCH = 4
STEPS = {"small": (1, 3), "full": (2, 3)}
"""Warm-up steps and measured steps."""


POINT = mapping(
    MODELS
    | {
        "measured": {"type": "array", "items": TEXT},
        "precision": choice(CASE_PRECISIONS),
        "warmup_steps": NOT_NEGATIVE,
        "steps": POSITIVE,
        "ceilings": SIZES_SCHEMA,
    }
)
"""The schema of a point."""


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """A point per precision, with all configured sizes and the names of those to measure."""
    warmup_steps, steps = STEPS[scale]
    common = models(settings, settings["sizes"]) | {
        "measured": [size for size in MEASURED[scale] if size in settings["sizes"]],
        "context": CONTEXT[scale],
        "batch": BATCH,
        "warmup_steps": warmup_steps,
        "steps": steps,
        "ceilings": CEILINGS[device],
    }
    return [
        {"point": precision, "precision": precision} | common for precision in PRECISIONS[scale]
    ]
