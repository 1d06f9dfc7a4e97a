"""Figures as declarations: where an axis has its ticks."""

import pytest

from workflow_src.paper.figures import apart


@pytest.mark.parametrize(
    ("places", "kept"),
    [
        ([], []),
        ([8], [8]),
        ([256, 128, 512], [128, 256, 512]),
        ([10, 500, 520, 530, 1000], [10, 500, 1000]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_apart(places: list[int], kept: list[int]) -> None:
    assert apart(places) == kept
