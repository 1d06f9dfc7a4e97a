"""What scripts know of a long table's rows: keys that sort, and what each row is of."""

import re

import pytest

from workflow_src.render.rows import Axes, with_data

PLAN = [
    {"case": f"{size}-{context}", "size": size, "context": context, "batch": 4, "precision": "fp32"}
    for size in ("small", "medium", "2.7B")
    for context in (128, 1024)
]


def table(*columns: tuple[str, ...]) -> str:
    """A long table of columns, each a heading and its cells."""
    headings, *rows = zip(*columns, strict=True)
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    cells = ("".join(f"<td>{cell}</td>" for cell in row) for row in rows)
    body = "\n".join(f"<tr>{row}</tr>" for row in cells)
    start = f'<table class="long"><thead><tr>{head}</tr></thead><tbody>\n'
    return f"{start}{body}</tbody></table>"


def keys(column: tuple[str, ...], axes: Axes) -> list[str]:
    return re.findall(r'data-order="(.*?)"', with_data(table(column), axes))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (("ms", "1.9", "\N{EN DASH}", "-2.2", "1,472"), ["1.9", "", "-2.2", "1472"]),
        (("ms", "1.9 (57.3 %)", "OOM", "3.2 + 1.31"), ["1.9", "", "3.2"]),
        (("a share", "12.3 %", "not measured"), ["12.3", ""]),
        (("size", "medium", "<b>2.7B</b>", "small", "other"), ["1", "2", "0", ""]),
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
    assert keys(column, Axes.of("", PLAN)) == expected


def rows(text: str, axes: Axes) -> list[str]:
    return [row.strip() for row in re.findall(r"<tr(.*?)>", with_data(text, axes))[1:]]


def test_a_row_says_the_case_that_it_names_if_it_is_one_and_the_phase_that_its_part_is():
    text = table(
        ("case", "medium-128", "<a>2.7B-1024</a>", "all", "unknown"),
        ("part", "step", "forward", "step without optimizer", "backward"),
        ("precision", "", "", "fp8", "fp32"),
    )
    assert rows(text, Axes.of(text, PLAN)) == [
        'data-size="medium" data-context="128" data-precision="fp32" data-phase="training step"',
        'data-size="2.7B" data-context="1024" data-precision="fp32" data-phase="forward"',
        'data-size="" data-context="" data-precision="fp8" data-phase="step without optimizer"',
        'data-size="" data-context="" data-precision="fp32" data-phase="backward"',
    ]


def test_a_row_says_nothing_of_an_axis_without_a_column_or_with_a_blank_cell():
    text = table(
        ("part", "(a)", "(b)"), ("phase", "forward", ""), ("precision", "bf16", "\N{EN DASH}")
    )
    assert rows(text, Axes.of(text, PLAN)) == ['data-precision="bf16" data-phase="forward"', ""]
    other = table(("part", "(a)", "(b)"))
    assert rows(other, Axes.of(text, PLAN)) == ["", ""]


def test_axes_that_vary_in_the_plan_are_chosen_by_in_its_order():
    assert Axes.of("", PLAN).values == {
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
    axes = Axes.of("", both)
    assert axes.values["attention"] == ["naive", "sdpa"]
    text = table(("attention", "sdpa", "naive"), ("attention", "10.0 %", "20.0 %"))
    assert rows(text, axes) == ['data-attention="sdpa"', 'data-attention="naive"']


def test_without_a_plan_the_axes_are_those_of_the_tables():
    text = table(("size", "b", "a", "b"), ("ms", "1", "2", "3"))
    assert Axes.of(text, ()).values["size"] == ["b", "a"]
    assert Axes.of(table(("ms", "1")), ()).values == {}
