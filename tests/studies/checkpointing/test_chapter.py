"""What the study checkpointing finds in small tables, and what is derived of a raw row."""

from typing import Any

import pytest

from tests.studies.chapters import facts


def row(sublayers: int = 2, peak_mib: float | None = 1000.0, **other: Any) -> dict[str, Any]:
    """A line of the table; without a peak, the step ran out of memory."""
    about = {"measurement": "flat", "size": "s", "layers": 96, "sublayers": sublayers}
    known = {"nested": False, "predicted_peak_mib": 1000.0, "predicted_best": 4, "gpu": "H200"}
    known |= {"flops": 3e12, "recomputed_flops": 1e12, "product_tflop_per_s": 50.0}
    ran = {"status": "ok", "peak_mib": peak_mib, "median_ms": 100.0}
    return about | known | (ran if peak_mib else {"status": "oom"}) | other


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([row(2, 900.0), row(4, 800.0), row(0, 100.0)], "predicted"),
        ([row(2, 900.0), row(4, 905.0)], "predicted"),
        ([row(2, 800.0), row(4, 900.0)], "otherwise"),
        ([row(2, 800.0)], "otherwise"),
        ([row(0)], "peaks"),
        ([row(4, None)], "can't tell"),
    ],
)
def test_verdicts(rows: list[dict[str, Any]], verdict: str) -> None:
    assert facts("checkpointing", rows)["verdict"] == verdict
