"""Fused attention is held against products' ceiling and exponentials', by head size."""

from typing import Any

import pandas as pd
import pytest

from workflow_src.studies.attention.bounds import bounds, bounds_table, ceilings_for

RATES = {"tflop_per_s": 800.0, "giga_exp_per_s": 4000.0}
CEILINGS = pd.DataFrame(
    [
        ("compute", "bf16", 800.0, None, True),
        ("compute", "bf16", 700.0, None, False),
        ("compute", "fp32", 50.0, None, True),
        ("exponential", "", None, 4000.0, True),
    ],
    columns=["kind", "precision", "best_tflop_per_s", "best_giga_exp_per_s", "is_ceiling"],
)


def core(head_size: int, context: int = 2000, ms: float = 1.0, **others: Any) -> dict[str, Any]:
    row = {
        "implementation": "sdpa_flash", "words": "SDPA flash", "phase": "forward", "status": "ok",
        "head_size": head_size, "context": context, "batch": 1, "heads": 1, "median_ms": ms,
    }  # fmt: skip
    return row | others


def test_the_rates_are_the_ceilings_of_the_precision() -> None:
    assert ceilings_for(CEILINGS, "bf16") == RATES
    assert ceilings_for(CEILINGS, "fp32") == RATES | {"tflop_per_s": 50.0}
    assert ceilings_for(CEILINGS, "tf32") == {"giga_exp_per_s": 4000.0}


def test_at_the_same_head_size_products_and_exponentials_take_as_long() -> None:
    """4 x 50 FLOPs at 800 x 10^12 a second take as long as one exponential at 4,000 x 10^9."""
    found = bounds([core(50)], RATES)
    assert found and found["equal_at"] == 50.0
    (row,) = found["rows"]
    assert row["products"] == pytest.approx(row["exponentials"])


@pytest.mark.parametrize(("head_size", "nearer"), [(16, "exponentials"), (64, "matrix products")])
def test_shares_are_of_the_causal_half_of_the_scores(head_size: int, nearer: str) -> None:
    """2000 x 2001 / 2 scores, whose exponentials take 500.25 ns at the ceiling."""
    found = bounds([core(head_size, ms=0.01)], RATES)
    assert found is not None
    (row,) = found["rows"]
    assert row["exponentials"] == pytest.approx(500.25e-6 / 0.01)
    assert row["products"] == pytest.approx(500.25e-6 / 0.01 * head_size / 50)
    assert row["nearer"] == nearer


def test_the_fastest_fused_forward_at_the_longest_context_of_each_head_size_counts() -> None:
    cudnn = {"implementation": "sdpa_cudnn", "words": "SDPA cuDNN"}
    cores = [
        core(16, ms=2.0),
        core(16, ms=0.001, **cudnn),
        core(16, 1000, 0.1),
        core(16, 4000, status="oom"),
        core(16, ms=0.0001, phase="backward"),
        core(16, ms=0.0001, implementation="naive"),
        core(32, 1000, 3.0),
    ]
    found = bounds(cores, RATES)
    assert found is not None
    assert [(r["head_size"], r["context"], r["words"], r["ms"]) for r in found["rows"]] == [
        (16, 2000, "SDPA cuDNN", 0.001),
        (32, 1000, "SDPA flash", 3.0),
    ]
    line = str(bounds_table(found["rows"])).splitlines()[2]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "16", "2000", "SDPA cuDNN", "0.00100", "16.0 %", "50.0 %", "exponentials",
    ]  # fmt: skip


def test_without_a_ceiling_or_a_fused_pass_there_is_nothing_to_say() -> None:
    assert bounds([core(16)], {"tflop_per_s": 800.0}) is None
    assert bounds([core(16, implementation="naive")], RATES) is None
