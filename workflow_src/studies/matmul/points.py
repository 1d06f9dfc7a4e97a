"""What the matmul study measures: a sweep of sizes in every precision, and two fine sweeps."""

from workflow_src.common.schema import AMOUNT, POSITIVE, choice, listed, mapping, mapping_by
from workflow_src.studies.study import Row, Settings

SIZES = {
    ("cpu", "small"): (64, 128, 256, 512),
    ("cpu", "full"): (64, 128, 256, 512, 1024, 2048),
    ("cuda", "small"): (128, 256, 512, 1024, 2048),
    ("cuda", "full"): (128, 256, 512, 1024, 2048, 4096, 8192, 16384),
}
PRECISIONS = ("fp32", "tf32", "bf16", "fp8")
FINE = {"cpu": {"precision": "fp32", "near": 256}, "cuda": {"precision": "bf16", "near": 2048}}
"""Precision of the fine sweeps, and the size near which they lie."""

REACH, STEP = 256, 32
"""The sweep across an edge covers REACH to both sides, in steps of STEP."""

BUDGET_MS = {"cpu": 40.0, "cuda": 100.0}
"""Time budget for measuring one product."""

SAMPLE_MS = 1.0
"""Minimum time of a sample: shorter products are repeated within it."""


BUDGETS = {"budget_ms": AMOUNT, "sample_ms": AMOUNT}
POINT = mapping_by(
    "point",
    {
        "sizes": mapping(
            BUDGETS | {"sizes": listed(POSITIVE), "precisions": listed(choice(PRECISIONS))}
        ),
        "fine": mapping(
            BUDGETS
            | {"precision": choice(PRECISIONS)}
            | {"near": POSITIVE, "reach": POSITIVE, "step": POSITIVE}
        ),
    },
)
"""The schema of a point."""


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """One point for all sizes, one for the two fine sweeps."""
    common = {"budget_ms": BUDGET_MS[device], "sample_ms": SAMPLE_MS}
    sizes = {"sizes": list(SIZES[device, scale]), "precisions": list(PRECISIONS)}
    fine = FINE[device] | {"reach": REACH, "step": STEP}
    return [{"point": "sizes"} | sizes | common, {"point": "fine"} | fine | common]
