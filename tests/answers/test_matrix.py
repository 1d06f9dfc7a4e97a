"""Matrices of one cell per case, of runs that are complete and of parts of runs."""

from tests.synthetic_tables import Sample
from workflow_src.answers.matrix import matrices
from workflow_src.answers.tables import CaseKey
from workflow_src.common.words import STATES

UNMEASURED = STATES["not_measured"]


def table(**cells: str) -> list[list[list[object]]]:
    """The matrices of cases named "{precision}_{size}_{context}", each with its heading."""
    parts = {name: name.split("_") for name in cells}
    cases = {
        CaseKey(**Sample(precision=p, size=size, context=int(context)).front): cells[name]
        for name, (p, size, context) in parts.items()
    }
    found = matrices(list(cases), lambda case: cases[case])
    return [[list(each), *each.to_numpy().tolist()] for each in found]


def test_a_row_per_size_and_a_column_per_context_with_gaps():
    cells = {"fp32_small_128": "1", "fp32_small_256": "2", "fp32_large_128": "OOM"}
    expected = [["fp32", "128", "256"], ["small", "1", "2"], ["large", "OOM", None]]
    assert table(**cells) == [expected]


def test_rows_columns_and_tables_of_which_nothing_was_measured_are_left_out():
    """A part of a run printed as many tables as the whole of it, full of "not measured"."""
    cells = {
        f"{precision}_{size}_{context}": UNMEASURED
        for precision in ("fp32", "tf32")
        for size in ("small", "medium", "large")
        for context in (128, 256, 512)
    }
    cells |= {"fp32_small_128": "1", "fp32_large_512": "2"}
    assert table(**cells) == [
        [["fp32", "128", "512"], ["small", "1", UNMEASURED], ["large", UNMEASURED, "2"]]
    ]
