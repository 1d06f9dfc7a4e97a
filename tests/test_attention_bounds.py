"""Fused attention is held against products' ceiling and exponentials', by head size."""

from importlib import import_module
from typing import Any

import pandas as pd
import pytest

from tests.workflow import ROOT
from workflow_src.studies.attention.bounds import bounds, ceilings_for
from workflow_src.studies.attention.section import SECTION
from workflow_src.studies.section import NO_CEILINGS, unjudged
from workflow_src.studies.study import JUDGED, STUDIES

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


@pytest.mark.parametrize(
    ("times", "flat"),
    [
        ((1.0, 1.05, 2.0), {"first": 16, "last": 32, "longer": 1.05, "more": 2.0}),
        ((1.0, 1.2, 2.0), None),
    ],
)
def test_more_flops_that_take_no_longer_are_said(
    times: tuple[float, ...], flat: dict[str, float] | None
) -> None:
    cores = [core(size, ms=ms) for size, ms in zip((16, 32, 64), times, strict=True)]
    found = bounds(cores, RATES)
    assert found is not None and found["flat"] == flat


def section(ceilings: pd.DataFrame) -> str:
    rows = [
        core(size, ms=ms, precision="bf16", phase=phase)
        for size, ms in ((16, 0.001), (64, 0.0011))
        for phase in ("forward", "backward")
    ]
    table = pd.DataFrame(rows).assign(point="cores", sweep="core", reason="", gpu="a GPU")
    table = table.assign(p20_ms=table["median_ms"], p80_ms=table["median_ms"])
    return SECTION.markdown(table, ROOT / "report_templates", ceilings=ceilings)


def test_the_section_says_which_ceiling_is_near_if_the_run_has_ceilings() -> None:
    text = section(CEILINGS)
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    shares = ["16.0 %", "50.0 %", "exponentials"]
    assert ["16", "2000", "SDPA flash", "0.00100", *shares] in lines
    assert (
        "Below a head size of 50.0 exponentials, at 4,000 x 10^9 a second, therefore take longer "
        "than products at 800 TFLOP/s." in text
    )
    assert "From head size 16 to 64 the pass takes 1.10 times as long, though its" in text
    assert "Which ceiling is near?" not in section(NO_CEILINGS)


def test_without_a_ceiling_or_a_fused_pass_there_is_nothing_to_say() -> None:
    assert bounds([core(16)], {"tflop_per_s": 800.0}) is None
    assert bounds([core(16, implementation="naive")], RATES) is None


@pytest.mark.parametrize("study", STUDIES)
def test_the_rules_give_ceilings_to_the_sections_that_judge(study: str) -> None:
    section = import_module(f"workflow_src.studies.{study}.section").SECTION
    assert (section.judge is not unjudged) == (study in JUDGED)
