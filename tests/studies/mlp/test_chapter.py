"""What the study mlp finds in small tables by hand."""

import pytest

from tests.studies.mlp.rows import operator, scaled, width
from tests.studies.tables import cells, result_of, table_of, verdict_of
from workflow_src.common.words import DASH
from workflow_src.paper.show import Printer
from workflow_src.studies.mlp.figure import draw
from workflow_src.studies.mlp.points import BASE

WIDTHS = [width(1024, 0.99, 7.0), width(256, 0.4), width(512, 0.9)]


def test_growth_is_over_all_widths_and_over_those_from_which_on_the_device_works() -> None:
    """512 works, too, but the wider 768 doesn't."""
    found = result_of("mlp", [*WIDTHS, width(768, 0.7, 3.0), width(2048, 0.9, 21.0)])
    assert (found.growth.low.dim, found.growth.high.dim) == (256, 2048)
    assert (found.growth.flops.number, found.growth.step.number) == (64, 10.5)
    assert (found.working.low.dim, found.working.high.dim) == (1024, 2048)
    assert (found.working.flops.number, found.working.step.number) == (4, 3)
    assert found.working.busy.number == pytest.approx(18.9 / 6.93)
    assert result_of("mlp", WIDTHS[1:]).working is None


def test_a_cpu_waits_for_no_launches() -> None:
    found = result_of("mlp", [each | {"device": "cpu"} for each in WIDTHS[1:]])
    assert (found.working.low.dim, found.working.high.dim) == (256, 512)


def test_each_width_stands_against_the_bases() -> None:
    lost = width(8192, 0.0) | {"status": "oom", "median_ms": None, "busy_ms": None}
    found = result_of("mlp", [*WIDTHS, lost])
    assert cells(found.dims, "dim") == ["256", "512", "1024", "8192"]
    assert cells(found.dims, "step, ms") == ["2.0", "2.0", "7.0", "OOM"]
    assert cells(found.dims, "FLOPs") == ["1.0 x", "4.0 x", "16 x", DASH]
    assert cells(found.dims, "step over") == ["1.0 x", "1.0 x", "3.5 x", DASH]
    assert cells(found.missing, "without") == ["sweep dim 8192"]
    assert Printer()(found.conditions) == f"layers {BASE['layers']}, batch {BASE['batch']}"
    without = result_of("mlp", WIDTHS[:1])
    assert list(without.dims) == ["dim", "step, ms", "device time, ms", "device time / step"]


def test_ratios_to_the_base() -> None:
    """Batch and layers enter the FLOPs linearly, dim squared."""
    rows = [scaled("base", 1, 2.0), scaled("layers", 3, 9.0), scaled("dim", 5, 50.0)]
    found = result_of("mlp", rows).scaled
    assert cells(found, "FLOPs over") == ["1.0 x", "3.0 x", "25 x"]
    assert cells(found, "time over")[1] == "4.5 x (4.0 x to 5.4 x)"
    assert cells(found, "time / FLOPs") == ["1.0 x", "1.5 x", "1.0 x"]
    alone = result_of("mlp", [scaled("base", 1, None, status="oom"), *rows[1:]]).scaled
    assert not [name for name in alone if name.startswith("time")]


def test_the_operators_that_take_most_come_first() -> None:
    rows = [operator(f"o{i}", share) for i, share in enumerate((0.1, 0.3, 0.2, 0.2, 0.1, 0.1))]
    found = result_of("mlp", rows).operators
    assert cells(found, "operator")[0] == "o1" and len(found) == 5 and "kernel" in found
    assert "kernel" not in result_of("mlp", [operator("o", 1.0, device="cpu")]).operators


def test_a_figure_of_all_and_of_nothing() -> None:
    rows = [*WIDTHS, scaled("base", 1, 2.0), scaled("dim", 2, 5.0)]
    left, right = draw(table_of(rows)).axes
    assert left.get_xlabel() == "FLOPs over the base's" and right.get_lines()
    assert not draw(table_of([width(8, 0.5, status="oom")])).axes


WIDE = width(512, 0.9, 2.0)


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([WIDE, width(1024, 0.99, 8.0)], "GROWS"),
        ([width(256, 0.1), WIDE, width(1024, 0.99, 8.0)], "FROM"),
        ([width(256, 0.1), width(512, 0.89)], "WAITS"),
        ([width(256, 0.1), WIDE], "WAITS"),
        ([WIDE], "CANT_TELL"),
        ([scaled("base", 1, 2.0), scaled("dim", 2, 2.0)], "CANT_TELL"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: str) -> None:
    assert verdict_of("mlp", rows)[0] == verdict


def test_the_numbers_of_verdicts() -> None:
    wider = width(1024, 0.99, 7.0)
    assert verdict_of("mlp", [WIDE, wider])[1] == (
        "From dim 512 to 1024, 4.0 x the FLOPs take 3.5 x as long."
    )
    assert verdict_of("mlp", [width(256, 0.1, 2.0), WIDE, wider])[1] == (
        "From dim 256 to 1024, 16 x the FLOPs take 3.5 x as long. From dim 512 on, where the "
        "device works for 90 % of each step or more, 4.0 x take 3.5 x."
    )
    assert "(most: 89 %, at dim 512)" in verdict_of("mlp", [width(256, 0.1), width(512, 0.89)])[1]
