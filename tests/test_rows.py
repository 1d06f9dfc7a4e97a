"""What scripts know of a long table's rows: keys that sort, and what each row is of."""

import pytest

from workflow_src.paper.rows import Axes, row_axes, sort_keys

PLAN = [
    {"case": f"{size}-{context}", "size": size, "context": context, "batch": 4, "precision": "fp32"}
    for size in ("small", "medium", "2.7B")
    for context in (128, 1024)
]


Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def table(*columns: tuple[str, ...]) -> Table:
    """The headings and the rows of columns, each a heading and its cells."""
    headings, *rows = zip(*columns, strict=True)
    return headings, rows


def keys(column: tuple[str, ...], axes: Axes) -> list[str]:
    (found,) = sort_keys(*table(column), axes)
    return found or []


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (("ms", "1.9", "\N{EN DASH}", "-2.2", "1,472"), ["1.9", "", "-2.2", "1472"]),
        (("ms", "1.9 (57.3 %)", "OOM", "3.2 + 1.31"), ["1.9", "", "3.2"]),
        (("a share", "12.3 %", "not measured"), ["12.3", ""]),
        (("size", "medium", "2.7B", "small", "other"), ["1", "2", "0", ""]),
        (("case", "2.7B-128", "small-128", "all"), ["4", "0", ""]),
        (("phase", "training step", "forward"), ["3", "0"]),
        (("a share", "+12.3 %", "1.0 %"), []),
        (("context", "128", "1024"), []),
        (("elements", "2^26", "2^27"), []),
        (("kernel", "gemm", "1 of many", "copy"), []),
        (("empty", "", "\N{EN DASH}"), []),
    ],
)
def test_cells_sort_by_value_and_by_the_order_of_the_plan(column, expected):
    assert keys(column, Axes.of((), PLAN)) == expected


def rows(text: Table, axes: Axes) -> list[dict[str, str]]:
    return row_axes(*text, axes)


def test_a_row_says_the_case_that_it_names_if_it_is_one_and_the_phase_that_its_part_is():
    text = table(
        ("case", "medium-128", "2.7B-1024", "all", "unknown"),
        ("part", "step", "forward", "step without optimizer", "backward"),
        ("precision", "", "", "fp8", "fp32"),
    )
    assert rows(text, Axes.of([text], PLAN)) == [
        {"size": "medium", "context": "128", "precision": "fp32", "phase": "training step"},
        {"size": "2.7B", "context": "1024", "precision": "fp32", "phase": "forward"},
        {"size": "", "context": "", "precision": "fp8", "phase": "step without optimizer"},
        {"size": "", "context": "", "precision": "fp32", "phase": "backward"},
    ]


def test_a_row_says_nothing_of_an_axis_without_a_column_or_with_a_blank_cell():
    text = table(
        ("part", "(a)", "(b)"), ("phase", "forward", ""), ("precision", "bf16", "\N{EN DASH}")
    )
    assert rows(text, Axes.of([text], PLAN)) == [{"precision": "bf16", "phase": "forward"}, {}]
    other = table(("part", "(a)", "(b)"))
    assert rows(other, Axes.of([text], PLAN)) == [{}, {}]


def test_axes_that_vary_in_the_plan_are_chosen_by_in_its_order():
    assert Axes.of((), PLAN).values == {
        "size": ["small", "medium", "2.7B"],
        "context": ["128", "1024"],
        "precision": ["fp32"],
        "phase": ["forward", "backward", "forward + backward", "training step"],
    }
    both = [
        {**row, "attention": kind, "case": f"{row['case']}-{kind}"}
        for row in PLAN
        for kind in ("naive", "sdpa")
    ]
    axes = Axes.of((), both)
    assert axes.values["attention"] == ["naive", "sdpa"]
    text = table(("attention", "sdpa", "naive"), ("attention", "10.0 %", "20.0 %"))
    assert rows(text, axes) == [{"attention": "sdpa"}, {"attention": "naive"}]


def test_without_a_plan_the_axes_are_those_of_the_tables():
    text = table(("size", "b", "a", "b"), ("ms", "1", "2", "3"))
    assert Axes.of([text], ()).values["size"] == ["b", "a"]
    assert Axes.of([table(("ms", "1"))], ()).values == {}
