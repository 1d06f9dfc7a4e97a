"""(d) against small tables done by hand: see tests/synthetic_tables.py for their times."""

import pandas as pd
import pytest

from tests.answers.reading import printed, reading
from tests.synthetic_tables import BACKWARD, FORWARD, Sample
from workflow_src.answers.gemm_share.figure import draw
from workflow_src.answers.gemm_share.layouts import by_layout, rates
from workflow_src.answers.gemm_share.result import GemmShare, parts_of_case, result

read = reading("d")


def counts(found: GemmShare) -> tuple[float, ...]:
    values = (found.compared, found.falling, found.rising, found.by_optimizer, found.by_backward)
    return tuple(each.number for each in values)


def test_the_change_is_what_backward_and_the_optimizer_add_up_to(read):
    """60 % in forward, 10 of 11 ms in the step without its optimizer, 10 of 20 in all of it."""
    found = result(read(Sample()))
    (change,) = found.changes
    assert change.by_backward.number == pytest.approx(10 / 11 - 0.6)
    assert change.by_optimizer.number == pytest.approx(0.5 - 10 / 11)
    assert change.points.number == pytest.approx(-0.1)
    assert change.optimizers_share.number == pytest.approx(9 / 20)
    assert change.products_times.number == pytest.approx(4 / 6)
    assert counts(found) == (1, 1, 0, 1, 0)
    assert printed(found.matrices[0].iloc[0, 1]) == "60 % → 50 %"


def test_a_step_has_parts_where_backward_has_a_range(read):
    tables = read(Sample())
    parts = [(p.name, p.ms.number, p.share.number) for p in parts_of_case(tables, tables.cases[0])]
    assert parts == [
        ("forward", 6.0, 1.0),
        ("backward", 4.0, 1.0),
        ("optimizer", 9.0, 0.0),
        ("elsewhere", 1.0, 0.0),
    ]
    both = parts_of_case(tables, tables.cases[0], "forward_backward")
    assert [(p.name, p.ms.number) for p in both] == [("forward", 6.0), ("backward", 14.0)]
    assert parts_of_case(tables, tables.cases[0], "forward") == ()


def test_without_a_range_of_the_optimizer_nothing_is_laid_to_it(read):
    step = [(path.replace("forward_backward", "train_step"), *rest) for path, *rest in BACKWARD]
    kernels = {"forward": FORWARD, "train_step": [tuple(kernel) for kernel in step]}
    found = result(read(Sample(kernels=kernels)))
    assert found.changes[0].by_optimizer is None
    assert counts(found) == (1, 0, 1, 0, 0)


def test_a_layout_is_held_against_the_same_products_in_forward():
    """Forward takes 1 ms for 1 FLOP of `up`, and 10 for 1 of `down`, which has no gradient here."""
    rows = [
        ("up", "forward", "nt", 1.0, 1.0),
        ("down", "forward", "nt", 10.0, 1.0),
        ("up", "input gradient", "nn", 2.0, 1.0),
        ("up", "weight gradient", "tn", 2.0, 4.0),
        ("head", "weight gradient", "nt", 2.0, 4.0),
        ("up", "weight gradient", "", 9.0, 4.0),
    ]
    columns = ["product", "direction", "layout", "busy_ms_per_step", "flops_per_step"]
    found = by_layout(pd.DataFrame(rows, columns=columns))
    assert {name: times.number for name, times in found.items()} == {
        ("input gradient", "nn"): 2.0,
        ("weight gradient", "tn"): 0.5,
    }
    assert by_layout(pd.DataFrame(columns=columns[:2])) == {}


def test_what_adds_up_a_split_product_takes_its_time():
    """2 + 1 ms in forward for 4 FLOPs, 5 + 1 ms for as many in backward: 2.0 x, where 5 / 2 is 2.5.

    A product without any FLOPs has no pace, and no rate.
    """
    columns = ["product", "direction", "layout", "busy_ms_per_step", "flops_per_step"]
    rows = [
        ("up", "forward", "nt", 2.0, 4e9),
        ("up", "forward", "nt", 1.0, 0.0),
        ("up", "input gradient", "nn", 5.0, 4e9),
        ("up", "input gradient", "nn", 1.0, 0.0),
        ("down", "weight gradient", "tn", 1.0, 0.0),
    ]
    products = pd.DataFrame(rows, columns=columns)
    assert [each.number for each in by_layout(products).values()] == [2.0]
    told = {name: rate.number for name, rate in rates(products).items()}
    assert told == {
        ("forward", "nt"): pytest.approx(4 / 3),
        ("input gradient", "nn"): pytest.approx(4 / 6),
    }


def test_the_figure_has_a_panel_for_each_phase_and_sets_the_optimizer_apart(read):
    axes = draw(read(Sample(), Sample(precision="bf16", status={"train_step": ("oom", "")}))).axes
    assert len(axes) == 6
    widths = {bar.get_label(): bar.patches[0].get_width() for bar in axes[2].containers}
    assert widths["optimizer"] == pytest.approx(45)
    assert [text.get_text() for text in axes[5].texts] == ["OOM"]
