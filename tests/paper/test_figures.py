"""Figures as they are declared."""

import pandas as pd

from workflow_src.paper.figures import Panel, Plot


def test_a_name_has_one_color_in_all_panels_and_no_axes_are_empty() -> None:
    rows = pd.DataFrame({"x": [1.0, 1.0], "y": [2.0, 3.0], "name": ["a", "b"]})
    panels = [Panel(mine, x="x", y="y", by="name") for mine in (rows, rows[1:], rows)]
    axes = Plot(panels, "nothing", wide=2).draw().axes
    colors = [[line.get_color() for line in each.lines] for each in axes]
    assert colors[0] == colors[2] and len({*colors[0]}) == 2
    assert colors[1] == colors[0][1:]
