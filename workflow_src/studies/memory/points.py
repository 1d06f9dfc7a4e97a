"""What the memory study measures: a point per size over contexts and precisions, and one block."""

from workflow_src.common.precisions import PRECISIONS as CASE_PRECISIONS
from workflow_src.common.schema import (
    POSITIVE,
    TEXT,
    YES_OR_NO,
    choice,
    listed,
    mapping,
    mapping_by,
)
from workflow_src.studies.models import MODELS, models
from workflow_src.studies.study import Row, Settings

SIZES = {"small": ("tiny",), "full": ("xl-2026", "small")}
BLOCK_SIZE = {"small": "tiny", "full": "xl-2026"}
CONTEXTS = {"small": (32, 64), "full": (128, 512, 2048)}
PRECISIONS = {"small": ("fp32",), "full": ("fp32", "bf16")}
RECORDED = {"small": (32, 64), "full": (128, 2048)}
"""The contexts at which each allocation is recorded."""

HEADS = {"small": (4, 2), "full": (32, 16)}
"""Heads of the one block: those of its size, and those of the course's printed figures."""

BATCH = 4
COMPILED = {"point": "block-compiled", "compiled": True, "precisions": ["fp32"]}

PRECISION = choice(CASE_PRECISIONS)
WHOLE = mapping(
    MODELS
    | {
        "size": TEXT,
        "contexts": listed(POSITIVE),
        "precisions": listed(PRECISION),
        "recorded": {"type": "array", "items": POSITIVE},
    }
)
BLOCK = mapping(
    MODELS
    | {
        "size": TEXT,
        "heads": listed(POSITIVE),
        "precisions": listed(PRECISION),
        "compiled": YES_OR_NO,
    }
)
POINT = mapping_by("measures", {"model": WHOLE, "block": BLOCK})
"""The schema of a point."""


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """A point per size, and one for a block; those of sizes that aren't configured are left out."""
    common = {"batch": BATCH, "precisions": list(PRECISIONS[scale]), "context": CONTEXTS[scale][-1]}
    found: list[Row] = [
        common
        | models(settings, [size])
        | {
            "point": size,
            "measures": "model",
            "size": size,
            "contexts": list(CONTEXTS[scale]),
            "recorded": list(RECORDED[scale]),
        }
        for size in SIZES[scale]
        if size in settings["sizes"]
    ]
    size = BLOCK_SIZE[scale]
    if size in settings["sizes"]:
        block = common | models(settings, [size]) | {"measures": "block", "size": size}
        block |= {"heads": list(HEADS[scale])}
        found.append(block | {"point": "block", "compiled": False})
        found += [block | COMPILED] if scale == "full" else []
    return found
