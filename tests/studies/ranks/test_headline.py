"""A table for each verdict of the study ranks."""

from typing import Any

import pytest

from tests.studies.ranks.rows import way
from tests.studies.tables import verdict_of

ALONE = way("alone", 100.0)
NAIVE = way("naive", 112.0)


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([ALONE, NAIVE, way("overlapped", 105.0)], "LITTLE"),
        ([ALONE, NAIVE, way("overlapped", 105.1)], "MUCH"),
        ([way("alone", 106.0), NAIVE], "WAITS"),
        ([ALONE, way("naive", 112.0, gradient_error=2e-4)], "WRONG"),
        ([ALONE, way("naive", 112.0, parameter_error=0.02)], "WRONG"),
        ([way("alone", 5.0, gpu=False), way("naive", 9.0, gpu=False)], "ON_A_CPU"),
        ([ALONE], "CANT_TELL"),
        ([NAIVE], "CANT_TELL"),
        ([ALONE, way("naive", None, status="oom")], "CANT_TELL"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: str) -> None:
    assert verdict_of("ranks", rows)[0] == verdict


def test_a_case_that_waits_for_launches_is_left_out() -> None:
    waits: dict[str, Any] = {"precision": "bf16", "compute_ms": 50.0}
    rows = [ALONE, NAIVE, way("alone", 100.0, **waits), way("fsdp", 300.0, **waits)]
    said = verdict_of("ranks", rows)[1]
    assert "takes 1.120 x as long as without communication at best" in said
    assert "all-reduce per parameter, after backward" in said and "FSDP2" not in said
