"""Tables of the page, from their cells: what is a number or a link, and what no name can become."""

import json

import pandas as pd
import pytest

from workflow_src.common.words import DASH
from workflow_src.paper.page_table import MARK, taken_out
from workflow_src.paper.rows import Axes
from workflow_src.paper.show import Printer
from workflow_src.paper.value import Cell, Joined, Marked, Ranged, Rows, Value

MS = Value(1.5, "ms", (Rows("timings", (2,)),))
OTHER = Value(2.0, "ms", (Rows("timings", (3,)),))


def page(**columns: list[Cell]) -> str:
    """The HTML of a table of these columns."""
    text = Printer(page=True).table(pd.DataFrame(columns, dtype="object"))
    _, (table,) = taken_out(text)
    return str(table.html("table 1", "heading", table.is_long("heading"), Axes({})))


@pytest.mark.parametrize(
    ("cell", "html"),
    [
        (MS, '<td class="right"><a href="#timings-2">1.50</a></td>'),
        (Marked(MS, "†"), '<td class="right"><a href="#timings-2">1.50</a>†</td>'),
        (Joined((MS, None)), f'<td class="right"><a href="#timings-2">1.50</a> → {DASH}</td>'),
        (
            Joined((Ranged(MS, MS, MS), "of", OTHER), " "),
            '<td class="right wide"><a href="#timings-2">1.50 (1.50 to 1.50</a>) of '
            '<a href="#timings-3">2.00</a></td>',
        ),
        ("<b>|*x*", "<td>&lt;b&gt;|*x*</td>"),
        ("x" * 20, f'<td class="word">{"x" * 20}</td>'),
        ("as wide as a sentence is", "<td>as wide as a sentence is</td>"),
        ("wider than a cell's text is", '<td class="wide">wider than a cell\'s text is</td>'),
        (None, f"<td>{DASH}</td>"),
    ],
)
def test_a_cell_is_what_it_holds(cell: Cell, html: str) -> None:
    assert html in page(a=[cell])


def test_only_a_page_with_the_rows_links_to_them() -> None:
    frame = pd.DataFrame({"a": [MS]}, dtype="object")
    (table,) = taken_out(Printer(page=True, linked=False).table(frame))[1]
    assert table.rows[0][0].html == "1.50"


def test_a_table_of_many_rows_has_tools_but_for_that_of_one_thing() -> None:
    many = ["x"] * 13
    assert 'class="long"' in page(a=many) and 'class="tools" data-title="heading"' in page(a=many)
    assert 'class="long"' not in page(a=many[1:]) and 'class="long"' not in page(heading=many)


def test_no_text_becomes_a_table() -> None:
    name = f'{MARK}[["a"], [false], [["<script>"]]]'
    assert taken_out(str(Printer()(name))) == (str(Printer()(name)), [])
    line = Printer(page=True).table(pd.DataFrame({"a": [f"\n{name}"]}))
    assert len(taken_out(line)[1]) == 1 and "<script>" not in page(a=[name])
    assert json.loads(line.removeprefix(MARK))[0] == ["a"]
