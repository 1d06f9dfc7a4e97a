"""What the study checkpointing finds in small tables, and what is derived of a raw row."""

from typing import Any

import pytest

from tests.studies.chapters import facts, texts
from workflow_src.studies.checkpointing.analyze import best_sublayers, derive
from workflow_src.studies.models import case_of

POINT: dict[str, Any] = {
    "point": "p", "sizes": {"s": {"d_model": 128, "d_ff": 256, "layers": 96, "heads": 2}},
    "vocabulary": 16, "batch": 256, "context": 128, "device": "cuda", "size": "s",
    "precision": "fp32",
}  # fmt: skip


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


def test_what_is_repeated_counts_in_the_whole_rate_alone() -> None:
    """3e12 FLOPs in 100 ms are 30 TFLOP/s, of 50; with those repeated 40."""
    found = facts("checkpointing", [row(1), row(2), row(6), row(0, None)])["flat"]
    assert texts(found["blocks"]) == ["half", "1", "3", "none"]
    first = found.iloc[0]
    assert (str(first["rate"]), str(first["whole_rate"])) == ("60 %", "80 %")
    assert str(first["again"]) == "33 %" and texts(found["peak"])[3] == "OOM"


def test_growth_is_told_without_weights_and_state() -> None:
    steady = {"measurement": "nesting", "weights_and_state_mib": 400.0}
    rows = [row(0, **steady), row(2, 1100.0, **steady), row(0, nested=True, **steady)]
    found = facts("checkpointing", [*rows, row(4, **steady)])["nesting"]
    assert found["way"].tolist() == ["none", "each block", "nested"]
    assert texts(found["beside"]) == ["600", "700", "600"]
    assert texts(found["off"])[1] == "9.1 %"


def test_the_best_number_lies_between_inputs_and_activations() -> None:
    """96 blocks keep 16 MiB each as inputs, and 14 times as much as activations."""
    assert best_sublayers(case_of(POINT, "s", "fp32")) == 4


def test_a_raw_row_gets_its_predictions() -> None:
    raw = {"measurement": "flat", "size": "s", "layers": 96, "precision": "fp32", "nested": False}
    raw |= {"sublayers": 4, "status": "oom", "reason": "full", "available_mib": 1000.0}
    ceiling = {"measurement": "ceiling", "status": "ok", "kind": "compute", "flops": 10**9}
    (made,) = derive(POINT, [ceiling | {"samples_ns": [10**6]}, raw])
    assert made["fits_predicted"] == "no" and made["predicted_best"] == 4
    assert made["product_tflop_per_s"] == 1.0 and made["predicted_passes"] == 192
