"""What the table of operators adds to (c), by hand."""

from collections.abc import Mapping

import pandas as pd

from tests.answers.reading import printed
from workflow_src.answers.other_kernels.passes import Pass
from workflow_src.answers.other_kernels.weight_casts import weight_casts
from workflow_src.answers.tables import CaseKey, Tables

CASE = CaseKey("a", "small", 128, 4, "bf16", "naive", "adamw", "cuda")
TO_BF16 = "vectorized_elementwise(bfloat16_copy)"


def operators(*rows: Mapping[str, object]) -> pd.DataFrame:
    """Rows of operators.csv of one forward pass."""
    return pd.DataFrame([{"case": "a", "phase": "forward", **row} for row in rows])


def copy(shapes: str, name: str, ms: float) -> Mapping[str, object]:
    return {
        "operator": "aten::copy_", "shapes": shapes, "short_name": name, "busy_ms_per_step": ms,
    }  # fmt: skip


def test_casts_of_weights_are_those_of_matrices() -> None:
    """1 of 10 ms: an activation has a batch and a context, and a copy alone casts nothing."""
    rows = operators(
        copy("768 x 768; 768 x 768", TO_BF16, 1.0),
        copy("4 x 128 x 768; 4 x 128 x 768", TO_BF16, 2.0),
        copy("768 x 768; 768 x 768", "elementwise(direct_copy)", 4.0),
    )
    kernels = pd.DataFrame({"busy_ns": [20_000_000], "steps": [2]})
    found = weight_casts(Tables({"operators": rows}), Pass(CASE, "ok", kernels))
    assert printed(found) == "1.00 ms, 10 %"
