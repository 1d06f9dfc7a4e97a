"""Device time in flame charts: nothing is lost, gradients have a place, rates are of ceilings."""

from pathlib import Path

import pandas as pd
import pytest

from workflow_src.answers.command import read_optional
from workflow_src.answers.evidence import read_table
from workflow_src.common.case import PHASES
from workflow_src.render.flame import Phase, Spent, flame
from workflow_src.report.ceilings import Ceilings, read_ceilings
from workflow_src.report.device_time import Tables, device_time

PUBLISHED = Path(__file__).parent.parent / "examples" / "h200" / "tables"
STEPS = 2
CASE = {"case": "c", "precision": "fp32"}

KERNELS = [
    ("train_step/forward/block/feed_forward", "gemm", 3_000_000),
    ("train_step/forward/block/feed_forward", "elementwise", 1_000_000),
    ("train_step/backward", "gemm", 6_000_000),
    ("train_step/backward", "elementwise", 2_000_000),
    ("train_step/optimizer", "elementwise", 4_000_000),
]
"""Path, family, ns in both steps together."""

OPERATORS = [
    ("train_step/forward/block/feed_forward", "gemm", "", 1.5, 0.0),
    ("train_step/forward/block/feed_forward", "elementwise", "", 0.5, 2e9),
    ("train_step/forward/block/feed_forward", "gemm", "aten::mm", 3.0, 0.0),
    ("train_step/forward/block/feed_forward", "elementwise", "aten::silu", 0.6, 3e9),
    ("train_step/optimizer", "elementwise", "", 2.0, float("nan")),
]
"""Path, family, forward operator, ms and bytes per step. 0.4 ms of backward have no operator."""

PRODUCTS = [
    *(("gate", "forward", 3e9), ("up", "forward", 2e9), ("gate or up", "forward", 1e9)),
    ("gate", "input gradient", 9e9),
]
"""Product, direction, FLOPs per step."""


def ceilings(gb_per_s: float = 5000.0, tflop_per_s: float = 10.0) -> Ceilings:
    best = {"is_ceiling": True, "precision": "fp32"}
    return Ceilings(
        [
            best | {"kind": "bandwidth", "name": "read", "best": gb_per_s},
            best | {"kind": "compute", "name": "mm", "best": tflop_per_s},
        ]
    )


def tables() -> Tables:
    kernels = pd.DataFrame(KERNELS, columns=["path", "family", "busy_ns"])
    names = ["path", "family", "forward_operator", "busy_ms_per_step", "bytes_per_step"]
    operators = pd.DataFrame(OPERATORS, columns=names)
    products = pd.DataFrame(PRODUCTS, columns=["product", "direction", "flops_per_step"])
    return Tables(
        *(t.assign(**CASE, phase="train_step", steps=STEPS) for t in (kernels, operators, products))
    )


def test_backward_is_placed_by_the_forward_range_whose_gradient_it_computes() -> None:
    found = device_time(tables(), ceilings(), "c", "train_step")
    inside = "train_step/backward/block/feed_forward"
    assert found[inside, "gemm"].ns == 6_000_000
    assert ("train_step/backward", "gemm") not in found, "all of it is known"
    assert found[inside, "elementwise"].ns == 1_200_000
    assert found["train_step/backward", "elementwise"] == Spent(800_000), "what isn't, stays"
    assert sum(spent.ns for spent in found.values()) == sum(ns for *_, ns in KERNELS)


def test_work_at_its_ceiling_takes_flops_or_bytes_over_the_best_rate() -> None:
    found = device_time(tables(), ceilings(), "c", "train_step")
    forward = "train_step/forward/block/feed_forward"
    assert found[forward, "gemm"].at_ceiling == pytest.approx(2 * 6e9 / 10e12 * 1e9)
    assert found[forward, "elementwise"].at_ceiling == pytest.approx(2 * 2e9 / 5000e9 * 1e9)
    gradient = found["train_step/backward/block/feed_forward", "gemm"]
    assert gradient.at_ceiling == pytest.approx(2 * 9e9 / 10e12 * 1e9)
    assert found["train_step/optimizer", "elementwise"].at_ceiling is None, "its bytes are unknown"


def test_a_time_that_operators_do_not_account_for_has_no_ceiling() -> None:
    whole = tables()
    half = whole.operators.assign(busy_ms_per_step=whole.operators["busy_ms_per_step"] / 2)
    found = device_time(Tables(whole.kernels, half, whole.products), ceilings(), "c", "train_step")
    assert found["train_step/forward/block/feed_forward", "gemm"] == Spent(3_000_000)


def test_runs_without_operators_or_ceilings_have_times_alone() -> None:
    whole = tables()
    bare = Tables(whole.kernels, whole.operators[:0], whole.products[:0])
    for found in (
        device_time(bare, ceilings(), "c", "train_step"),
        device_time(bare, Ceilings([]), "c", "train_step"),
    ):
        assert found == {(path, family): Spent(ns) for path, family, ns in KERNELS}
    alone = device_time(whole, Ceilings([]), "c", "train_step").values()
    assert all(spent.at_ceiling is None for spent in alone)


def test_a_phase_that_was_not_captured_has_no_time() -> None:
    assert device_time(tables(), ceilings(), "c", "forward") == {}


def test_a_box_gives_the_share_of_its_ceiling_where_most_of_its_time_is_known() -> None:
    times = {
        ("step/a", "gemm"): Spent(90, 45.0),
        ("step/b", "gemm"): Spent(10, 10.0),
        ("step/b", "copy"): Spent(94, 94.0),
        ("step/c", "copy"): Spent(6),
    }
    chart = flame([Phase("training step", 3, times)], ["a", "b", "c"])
    assert "step: 200 ns, 100.0 %\ngemm 100 ns (55.0 % of its ceiling), copy 100 ns<" in chart
    assert "step/b: 104 ns, 52.0 %\ncopy 94 ns (100.0 % of its ceiling)" in chart


@pytest.fixture(scope="module")
def published() -> Tables:
    kernels = read_table(PUBLISHED, "kernels")
    return Tables(kernels, *(read_optional(PUBLISHED, name) for name in ("operators", "products")))


@pytest.mark.parametrize("case", ["medium-ctx256-bf16", "2.7B-ctx1024-fp32", "xl-ctx512-bf16"])
def test_no_nanosecond_of_a_published_case_is_lost(published: Tables, case: str) -> None:
    rates = read_ceilings(PUBLISHED / "ceilings.csv")
    kernels = published.kernels
    for phase in PHASES:
        found = device_time(published, rates, case, phase)
        mine = kernels[(kernels["case"] == case) & (kernels["phase"] == phase)]
        assert sum(spent.ns for spent in found.values()) == mine["busy_ns"].sum()
        assert all(spent.ns > 0 for spent in found.values())


def test_most_of_a_published_step_is_held_against_a_ceiling(published: Tables) -> None:
    rates = read_ceilings(PUBLISHED / "ceilings.csv")
    found = device_time(published, rates, "medium-ctx256-bf16", "train_step").values()
    known = [spent for spent in found if spent.at_ceiling is not None]
    assert sum(spent.ns for spent in known) > 0.98 * sum(spent.ns for spent in found)
