"""The sources of the page's numbers: one line per set of rows, with files, lines and formulas."""

from workflow_src.paper.value import Rows, Value
from workflow_src.report.evidence import evidence


def test_values_of_the_same_rows_share_a_line_with_both_formulas():
    rows = Rows("timings", (2, 3, 4, 9))
    values = [Value(1.0, "ms", (rows,), "median"), Value(2.0, "ms", (rows,), "mean")]
    other = Value(3.0, "", (Rows("plan", (2,)), Rows("studies/mlp", (3,))))
    first, second = evidence([*values, other])
    assert first.key == values[0].key
    assert first.rows == ("tables/timings.csv: 2-4, 9 (4 lines)",)
    assert first.formulas == ("median", "mean")
    assert second.rows == ("plan.csv: 2", "tables/studies/mlp.csv: 3")
    assert second.formulas == ()


def test_only_the_first_lines_are_listed():
    rows = Rows("kernels", tuple(range(2, 200, 2)))
    (found,) = evidence([Value(1.0, "", (rows,))])
    assert found.rows[0].endswith("38, 40 (99 lines)")
