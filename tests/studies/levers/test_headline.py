"""A table for each verdict of the study levers."""

import pytest

from tests.studies.levers.rows import STEP, expected, tried
from tests.studies.tables import verdict_of
from workflow_src.studies.levers.points import PLAIN

HIT = tried("sdpa", 80.0) | expected(85.0, 70.0, 90.0)
MISS = tried("graph", 50.0) | expected(30.0, 25.0, 45.0, inside=False)


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([STEP, HIT], "FORETOLD"),
        ([STEP, HIT, MISS], "MISSED"),
        ([STEP, tried("sdpa", 80.0)], "UNPREDICTED"),
        ([STEP, tried("sdpa", 98.0)], "NOTHING"),
        ([STEP], "CANT_TELL"),
        ([tried(PLAIN, None, status="oom"), tried("sdpa", 80.0, saving_share=None)], "CANT_TELL"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: str) -> None:
    assert verdict_of("levers", rows)[0] == verdict


def test_the_numbers_of_a_verdict() -> None:
    other = [each | {"case": "b"} for each in (STEP, MISS)]
    _, said = verdict_of("levers", [STEP, HIT, *other])
    assert "fused attention or a CUDA graph" in said and "20 % to 50 % shorter" in said
    assert "1 of 2 times" in said and "20 % of the plain step" in said
