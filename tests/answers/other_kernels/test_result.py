"""(c) against small tables done by hand: see tests/synthetic_tables.py for their times."""

import pytest

from tests.answers.reading import printed, reading, row_of
from tests.synthetic_tables import FORWARD, Kernel, Sample
from workflow_src.answers.other_kernels.result import components_of_case, result

CAST: Kernel = ("forward/block/attention/qkv", "x bfloat16_copy_kernel", "copy", 6, 1_000_000)


read = reading("c")


def scaled(products: float, square: float, rest: float) -> dict[str, list[Kernel]]:
    """A forward pass with products, work on context x context, and all else so many times."""

    def factor(path: str, family: str) -> float:
        if family == "gemm":
            return products
        return square if path.endswith(("scores", "softmax")) else rest

    rows = [(p, name, f, calls, int(ns * factor(p, f))) for p, name, f, calls, ns in FORWARD]
    return {"forward": rows}


def test_components_hold_products_and_all_else(read):
    """Of 10 ms: scores 4 ms of products and 0.5 of other work, values 2 ms of products alone."""
    tables = read(Sample())
    parts = components_of_case(tables, tables.cases[0])
    found = {p.name: (p.ms.number, p.products.number, p.besides.number) for p in parts}
    assert found == {
        "norms": pytest.approx((0.05, 0, 0.005)),
        "scores and mask": pytest.approx((4.5, 0.4, 0.05)),
        "softmax": pytest.approx((3.0, 0, 0.3)),
        "values": pytest.approx((2.0, 0.2, 0)),
        "elsewhere": pytest.approx((0.45, 0, 0.045)),
    }


def test_medians_are_over_the_cases_of_a_precision_and_small_parts_left_out(read):
    """Norms take 0.5 % of the pass; with products 4 times as long all else takes 4 of 28 ms."""
    found = result(read(Sample(), Sample(context=256, kernels=scaled(4, 1, 1))))
    rows = found.components.set_index(found.components.columns[0])["fp32"]
    assert list(rows.index) == [
        "scores and mask",
        "softmax",
        "elsewhere",
        "together: median (least to most)",
    ]
    tried = found.components["remedy in (f)"]
    assert list(tried) == ["sdpa, compile", "sdpa, compile", None, None]
    assert rows["softmax"].number == pytest.approx((3 / 10 + 3 / 28) / 2)
    assert rows.iloc[-1].value.number == pytest.approx((4 / 10 + 4 / 28) / 2)
    assert (found.leader, printed(found.leads.cell)) == ("softmax", "2 of 2")
    assert list(found.operations.iloc[:, 0]) == ["softmax", "elementwise operation", "copy"]
    assert not found.over_half.holds.number


def test_precisions_are_compared_between_cases_alike_in_all_else(read):
    """A quarter of the products' time; 4 ms of all else become 8, and 1 ms of casts joins them."""
    faster = {"forward": [*scaled(0.25, 2, 2)["forward"], CAST]}
    found = result(read(Sample(), Sample(precision="bf16", kernels=faster))).precisions
    assert row_of(found["bf16, of fp32's time"]) == ["25 %", "225 %", "200 %"]


def test_what_works_on_context_squared_grows_on_its_own(read):
    longest = Sample(context=512, kernels=scaled(4, 16, 5))
    found = result(read(Sample(), Sample(context=256, kernels=scaled(2, 4, 2)), longest)).contexts
    cells = row_of(found.iloc[0])
    assert cells == ["fp32", "128 to 512", "16 x", "4.0 x", "5.0 x", "1 of 1"]
