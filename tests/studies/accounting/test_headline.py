"""A table for each verdict of the study accounting."""

import pytest

from tests.studies.accounting.rows import CEILINGS, component, model, phase
from tests.studies.tables import verdict_of


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([model(), phase(), *CEILINGS], "BOTH"),
        ([model(), phase(), phase("train_step")], "MEMORY"),
        ([phase(peak_mib=None), *CEILINGS], "RATES"),
        ([model(), phase(status="oom"), *CEILINGS], "FORMULAS"),
        ([component("qkv", 50, 8.0)], "CANT_TELL"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: str) -> None:
    assert verdict_of("accounting", rows)[0] == verdict


def test_the_numbers_of_a_verdict() -> None:
    bf16 = [each | {"precision": "bf16"} for each in (phase(flops=2e9), *CEILINGS)]
    rows = [phase(), phase(size="large", flops=8e9), *CEILINGS, *bf16]
    _, said = verdict_of("accounting", rows)
    assert "at most 10 %" in said and "fp32 40 % to 80 %, bf16 20 %" in said
