"""Figures as they are declared."""

import pandas as pd
import pytest

from workflow_src.paper.figures import Panel, Plot, apart


def test_a_name_has_one_color_in_all_panels_and_no_axes_are_empty() -> None:
    rows = pd.DataFrame({"x": [1.0, 1.0], "y": [2.0, 3.0], "name": ["a", "b"]})
    panels = [Panel(mine, x="x", y="y", by="name") for mine in (rows, rows[1:], rows)]
    axes = Plot(panels, "nothing", wide=2).draw().axes
    colors = [[line.get_color() for line in each.lines] for each in axes]
    assert colors[0] == colors[2] and len({*colors[0]}) == 2
    assert colors[1] == colors[0][1:]


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
