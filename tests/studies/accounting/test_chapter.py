"""What the study accounting finds in small tables by hand."""

import pytest

from tests.studies.accounting.rows import CEILINGS, component, model, phase
from tests.studies.tables import cells, result_of, table_of, verdict_of
from workflow_src.common.words import DASH
from workflow_src.studies.accounting.chapter import FLOPS_RATE
from workflow_src.studies.accounting.figure import draw
from workflow_src.studies.accounting.roofline import ceilings, components
from workflow_src.studies.lines import lines


def test_ceilings_are_medians_and_bandwidth_is_of_what_reads() -> None:
    found = ceilings(lines(table_of(CEILINGS), "accounting"))["fp32"]
    assert found.products and found.bandwidth and found.ridge
    assert (found.products.number, found.bandwidth.number) == (10.0, 1000.0)
    assert found.ridge.number == 10.0
    assert [found.roof(x) for x in (1.0, 100.0)] == [1.0, 10.0]
    assert cells(result_of("accounting", CEILINGS).roofs, "ridge") == ["10.0"]


def test_utilization_is_of_the_best_product_and_only_where_the_device_works() -> None:
    rows = [model(), phase(), phase("train_step"), *CEILINGS]
    found = result_of("accounting", rows)
    (share,) = found.utilization["fp32"]
    assert share.number == pytest.approx(0.4)
    assert cells(found.phases, FLOPS_RATE) == ["40 %", DASH]
    assert cells(found.sizes, FLOPS_RATE) == ["40 %"] and cells(found.sizes, "device works") == [
        "95 %"
    ]
    waits = result_of("accounting", [phase(busy_ms=0.89), *CEILINGS])
    assert waits.utilization == {} and FLOPS_RATE not in waits.sizes
    on_cpu = result_of("accounting", [each | {"gpu": None} for each in (phase(), *CEILINGS)])
    assert on_cpu.utilization and "device works in it" not in on_cpu.sizes
    beyond = result_of("accounting", [phase(flops=11e9), *CEILINGS])
    assert cells(beyond.phases, FLOPS_RATE) == ["110 % (c)"]


def test_memory_and_the_rule_against_their_measurements() -> None:
    found = result_of("accounting", [model(), phase("train_step")])
    assert [value.number for value in found.off] == [pytest.approx(0.1)]
    assert [value.number for value in found.rule] == [pytest.approx(0.95)]
    assert cells(found.phases, "off by") == ["-10 %"]
    assert cells(found.sizes, "step's peak") == ["1.00"]
    assert cells(found.models, "6ND / step, all N") == ["99 %"]


def test_only_components_of_one_kind_of_work_have_a_share_of_their_ceiling() -> None:
    rows = [component("qkv", 50, 8.0), component("softmax", 2, 1.0), component("values", 50, 5.0)]
    rows += [each | {"precision": "bf16"} for each in (*rows, *CEILINGS)] + CEILINGS
    every = lines(table_of(rows), "accounting")
    found = components(every, ceilings(every))
    shares = [each.of_roof and each.of_roof.number for each in found]
    assert shares == [0.8, 0.5, None, None, 0.5, None]
    assert [each.by_bandwidth for each in found[:2]] == [False, True]
    assert cells(result_of("accounting", rows).components, "component")[2] == "values"


def test_what_ran_out_of_memory_keeps_its_prediction() -> None:
    lost = dict.fromkeys(("median_ms", "busy_ms", "peak_mib"))
    rows = [phase(), phase("train_step", status="oom", reason="full") | lost]
    found = result_of("accounting", rows)
    assert cells(found.phases, "peak") == ["1.00", "OOM"]
    assert cells(found.phases, "predicted") == ["0.900"] * 2
    assert cells(found.missing, "why") == ["full"]


def test_a_figure_of_all_and_of_nothing() -> None:
    (axes,) = draw(table_of([component("qkv", 50, 8.0), *CEILINGS])).axes
    assert "q/k/v projections" in axes.get_legend_handles_labels()[1]
    assert not draw(table_of([component("values", 50, 8.0), *CEILINGS])).axes


@pytest.mark.parametrize(
    ("sources", "label"),
    [
        ((None, None), "FLOPs per byte of minimum traffic"),
        (("shapes", "shapes"), "FLOPs per byte moved"),
        (("shapes", "formula"), "FLOPs per byte"),
    ],
)
def test_the_figure_says_which_bytes_it_divides_by(
    sources: tuple[str | None, str | None], label: str
) -> None:
    rows = [component("qkv", 50, 8.0), component("softmax", 2, 1.0)]
    mine = [row | {"work_from": by} for row, by in zip(rows, sources, strict=True)]
    (axes,) = draw(table_of([*mine, *CEILINGS])).axes
    assert axes.get_xlabel() == label


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([model(), phase(), *CEILINGS], "BOTH"),
        ([model(), phase(), phase("train_step")], "MEMORY"),
        ([phase(peak_mib=None), *CEILINGS], "RATES"),
        ([model(), phase(status="oom"), *CEILINGS], "FORMULAS"),
        ([component("qkv", 50, 8.0)], "CANT_TELL"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: str) -> None:
    assert verdict_of("accounting", rows)[0] == verdict


def test_the_numbers_of_a_verdict() -> None:
    bf16 = [each | {"precision": "bf16"} for each in (phase(flops=2e9), *CEILINGS)]
    rows = [phase(), phase(size="large", flops=8e9), *CEILINGS, *bf16]
    _, said = verdict_of("accounting", rows)
    assert "at most 10 %" in said and "fp32 40 % to 80 % (n = 2), bf16 20 % (n = 1)" in said
