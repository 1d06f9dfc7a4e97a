"""What the warm-up study measures: first steps, each run of them in its own process."""

from workflow_src.common.schema import NOT_NEGATIVE, POSITIVE, TEXT, YES_OR_NO, mapping
from workflow_src.studies.models import MODELS, models
from workflow_src.studies.study import Row, Settings

WARMUP_STEPS = (0, 1, 2, 5)
SIZES = {"small": ("tiny",), "full": ("small", "medium", "large", "xl", "2.7B")}
CONTEXTS = {"small": 64, "full": 256}
BATCH = 4
STEPS = 10

LAZY, EAGER = "LAZY", "EAGER"
"""When CUDA loads a kernel's code: at its first launch, or with the library that it belongs to."""

CAUSE_STEPS, REPEATS = 6, 2
"""Steps of each phase where the cause is recorded, and processes for each way of loading code."""


POINT = mapping(
    MODELS | {"size": TEXT, "steps": POSITIVE}, {"cause": YES_OR_NO, "prepared": YES_OR_NO}
) | {
    "if": mapping({"cause": {"const": True}}),
    "then": mapping({"repeats": POSITIVE}),
    "else": mapping({"warmup_steps": NOT_NEGATIVE}),
}
"""The schema of a point: one of its first steps' cause, or a run with a number of warm-up steps."""


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """A point per configured model size and number of warm-up steps.

    On a CUDA device also the cause of first steps, for the first and the last of these sizes.
    """
    sizes = [size for size in SIZES[scale] if size in settings["sizes"]]
    runs = [
        _about(f"warmup{warmup_steps}", size, scale, settings)
        | {"warmup_steps": warmup_steps, "steps": STEPS}
        for size in sizes
        for warmup_steps in WARMUP_STEPS
    ]
    causes = [
        _about("cause", size, scale, settings)
        | {"cause": True, "steps": CAUSE_STEPS, "repeats": REPEATS}
        for size in dict.fromkeys([*sizes[:1], *sizes[-1:]])
        if device == "cuda"
    ]
    return runs + causes


def _about(name: str, size: str, scale: str, settings: Settings) -> Row:
    context = CONTEXTS[scale]
    return {
        "point": f"{size}-ctx{context}-{name}",
        "size": size,
        **models(settings, [size]),
        "context": context,
        "batch": BATCH,
    }
