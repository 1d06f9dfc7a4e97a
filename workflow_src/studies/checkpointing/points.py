"""What the checkpointing study measures: how many sublayers are checkpointed as one, and nesting.

A block has two sublayers, attention and feed-forward.
"""

from workflow_src.common.ceilings import SIZES as CEILINGS
from workflow_src.common.ceilings import SIZES_SCHEMA
from workflow_src.common.precisions import PRECISIONS
from workflow_src.common.schema import NOT_NEGATIVE, POSITIVE, TEXT, choice, listed, mapping
from workflow_src.studies.models import MODELS, models
from workflow_src.studies.study import Row, Settings

SIZE = {"small": "tiny", "full": "xl-2026"}
CONTEXT = {"small": 64, "full": 2048}
BATCH = 4
SUBLAYERS = {"small": (0, 1, 2, 4), "full": (2, 1, 4, 8)}
"""The best first, then its neighbors; without checkpoints, the full size doesn't fit anywhere."""

DEEP = {
    "small": {"d_model": 16, "d_ff": 32, "layers": 64, "heads": 2},
    "full": {"d_model": 128, "d_ff": 256, "layers": 96, "heads": 2},
}
"""So deep and narrow that the inputs kept weigh as much as what a block keeps."""

DEEP_SHAPE = {"small": (16, 64), "full": (128, 256)}
"""Context and batch."""

DEEP_VOCABULARY = 16
"""So few that the loss takes less than a block."""

DEEP_SUBLAYERS = (4, 2, 6, 1, 8, 16, 32, 0)

DEPTHS = (1, 2, 4, 8, 16, 32, 64)
"""Blocks of the models that show how nesting grows."""

SHAPES = {"small": [[256, 256, 256]], "full": [[8192, 8192, 8192]]}
"""The product that a step's rate is a share of."""

STEPS = {"small": 1, "full": 1}
DEEP_STEPS = {"small": 1, "full": 2}
"""Timed steps; the one whose peak is measured comes before."""

POINT = mapping(
    MODELS
    | {
        "size": TEXT,
        "precision": choice(PRECISIONS),
        "depths": {"type": "array", "items": POSITIVE},
        "sublayers": listed(NOT_NEGATIVE),
        "steps": POSITIVE,
        "ceilings": SIZES_SCHEMA,
    },
)
"""The schema of a point: a size with `sublayers`, and then models of its width with `depths`."""


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """A point for a size of the configuration, and one for a deep and narrow model."""
    size, (context, batch) = SIZE[scale], DEEP_SHAPE[scale]
    ceilings = CEILINGS[device] | {"shapes": SHAPES[scale], "pause_ms": 0.0}
    common: Row = {"precision": "fp32", "ceilings": ceilings}
    whole = {"point": size, "size": size, "context": CONTEXT[scale], "batch": BATCH, "depths": []}
    whole |= {"sublayers": list(SUBLAYERS[scale])} | {"steps": STEPS[scale]}
    deep = {"point": "deep", "size": "deep", "context": context, "batch": batch}
    deep |= {"sublayers": list(DEEP_SUBLAYERS), "depths": list(DEPTHS)}
    deep |= {"sizes": {"deep": DEEP[scale]}, "vocabulary": DEEP_VOCABULARY}
    found = [common | models(settings, [size]) | whole] if size in settings["sizes"] else []
    return [*found, common | deep | {"steps": DEEP_STEPS[scale]}]
