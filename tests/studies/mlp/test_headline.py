"""A table for each verdict of the study mlp."""

import pytest

from tests.studies.mlp.rows import scaled, width
from tests.studies.tables import verdict_of

WIDE = width(512, 0.9, 2.0)


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([WIDE, width(1024, 0.99, 8.0)], "FOLLOWS"),
        ([WIDE, width(1024, 0.99, 6.0)], "FOLLOWS"),
        ([WIDE, width(1024, 0.99, 5.9)], "LESS"),
        ([WIDE, width(1024, 0.99, 10.1)], "MORE"),
        ([width(256, 0.1), width(512, 0.79)], "WAITS"),
        ([width(256, 0.1), WIDE], "WAITS"),
        ([WIDE], "CANT_TELL"),
        ([scaled("base", 1, 2.0), scaled("dim", 2, 2.0)], "CANT_TELL"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: str) -> None:
    assert verdict_of("mlp", rows)[0] == verdict


def test_the_numbers_of_verdicts() -> None:
    _, said = verdict_of("mlp", [WIDE, width(1024, 0.99, 7.0)])
    assert "from dim 512 to 1024, 4.0 x the FLOPs take 3.5 x as long" in said
    assert "90 % to 99 % of the step" in said
    assert "(most: 79 %, at dim 512)" in verdict_of("mlp", [width(256, 0.1), width(512, 0.79)])[1]
