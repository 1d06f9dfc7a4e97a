"""Fused attention is held against products' ceiling and exponentials', by head size."""

from typing import Any

import pandas as pd
import pytest

from tests.studies.tables import printed, table
from workflow_src.studies.attention.bounds import Bounds, bounds
from workflow_src.studies.lines import lines

CEILINGS = pd.DataFrame(
    [
        ("compute", "bf16", 800.0, None, True),
        ("compute", "bf16", 900.0, None, False),
        ("compute", "fp32", 50.0, None, True),
        ("exponential", "", None, 4000.0, True),
    ],
    columns=["kind", "precision", "best_tflop_per_s", "best_giga_exp_per_s", "is_ceiling"],
)


def core(head_size: int, context: int = 2000, ms: float = 1.0, **others: Any) -> dict[str, Any]:
    row = {
        "implementation": "sdpa_flash", "phase": "forward", "precision": "bf16",
        "head_size": head_size, "context": context, "batch": 1, "heads": 1, "median_ms": ms,
    }  # fmt: skip
    return row | others


def found(*cores: dict[str, Any], ceilings: pd.DataFrame = CEILINGS) -> Bounds | None:
    return bounds(lines(table(*cores), "attention"), lines(ceilings, "ceilings"))


def test_at_the_same_head_size_products_and_exponentials_take_as_long() -> None:
    """4 x 50 FLOPs at 800 x 10^12 a second take as long as one exponential at 4,000 x 10^9."""
    made = found(core(50))
    assert made and made.equal_at and made.equal_at.number == 50.0
    assert printed(made.table)[0][-1] == printed(made.table)[0][-2]
    made = found(core(50, precision="fp32"))
    assert made and made.products.number == 50.0


@pytest.mark.parametrize("head_size", [16, 64])
def test_shares_are_of_the_causal_half_of_the_scores(head_size: int) -> None:
    """2000 x 2001 / 2 scores, whose exponentials take 500.25 ns at the ceiling."""
    made = found(core(head_size, ms=0.01))
    assert made is not None
    (row,) = made.table.to_dict("records")
    assert row["exponentials"].number == pytest.approx(500.25e-6 / 0.01)
    expected = pytest.approx(500.25e-6 / 0.01 * head_size / 50)
    assert row["products would take"].number == expected


def test_the_fastest_fused_forward_at_the_longest_context_of_each_head_size_counts() -> None:
    made = found(
        core(32, 1000, 3.0),
        core(16, ms=2.0),
        core(16, ms=0.001, implementation="sdpa_cudnn"),
        core(16, 1000, 0.1),
        core(16, 4000, status="oom"),
        core(16, ms=0.0001, phase="backward"),
        core(16, ms=0.0001, implementation="naive"),
    )
    assert made is not None
    assert [row[:4] for row in printed(made.table)] == [
        ["16", "2000", "SDPA cuDNN", "0.00100"],
        ["32", "1000", "SDPA flash", "3.00"],
    ]


def test_without_a_ceiling_or_a_fused_pass_there_is_nothing_to_say() -> None:
    assert found(core(16), ceilings=CEILINGS[:3]) is None
    assert found(core(16), ceilings=pd.DataFrame()) is None
    assert found(core(16, precision="tf32")) is None
    assert found(core(16, implementation="naive")) is None
