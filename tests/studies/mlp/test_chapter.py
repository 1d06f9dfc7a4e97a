"""What the study mlp finds in small tables by hand."""

import pytest

from tests.studies.mlp.rows import operator, scaled, width
from tests.studies.tables import cells, result_of, table_of, verdict_of
from workflow_src.common.words import DASH
from workflow_src.studies.mlp.figure import draw

WIDTHS = [width(1024, 0.99, 7.0), width(256, 0.4), width(512, 0.9)]


def test_growth_is_between_the_two_largest_widths_that_keep_the_device_working() -> None:
    found = result_of("mlp", [*WIDTHS, width(2048, 0.7, 1.0)]).growth
    assert (found.low.dim, found.high.dim) == (512, 1024)
    assert (found.flops.number, found.step.number) == (4, 3.5)
    assert found.busy.number == pytest.approx(6.93 / 1.8)
    assert found.step.sources[0].numbers == (2, 4)
    assert result_of("mlp", WIDTHS[1:]).growth is None


def test_a_cpu_waits_for_no_launches() -> None:
    found = result_of("mlp", [each | {"device": "cpu"} for each in WIDTHS[1:]])
    assert (found.growth.low.dim, found.growth.high.dim) == (256, 512)


def test_each_width_stands_against_the_bases() -> None:
    lost = width(8192, 0.0) | {"status": "oom", "median_ms": None, "busy_ms": None}
    found = result_of("mlp", [*WIDTHS, lost])
    assert cells(found.dims, "dim") == ["256", "512", "1024", "8192"]
    assert cells(found.dims, "step, ms") == ["2.0", "2.0", "7.0", "OOM"]
    assert cells(found.dims, "FLOPs") == ["1.0 x", "4.0 x", "16 x", DASH]
    assert cells(found.dims, "step over") == ["1.0 x", "1.0 x", "3.5 x", DASH]
    assert cells(found.missing, "without") == ["sweep dim 8192"]
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
        ([width(256, 0.1), width(512, 0.89)], "WAITS"),
        ([width(256, 0.1), WIDE], "WAITS"),
        ([WIDE], "CANT_TELL"),
        ([scaled("base", 1, 2.0), scaled("dim", 2, 2.0)], "CANT_TELL"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: str) -> None:
    assert verdict_of("mlp", rows)[0] == verdict


def test_the_numbers_of_verdicts() -> None:
    _, said = verdict_of("mlp", [WIDE, width(1024, 0.99, 7.0)])
    assert "From dim 512 to 1024" in said and "4.0 x the FLOPs take 3.5 x as long" in said
    assert "90 % to 99 % of the step." in said
    assert "(most: 89 %, at dim 512)" in verdict_of("mlp", [width(256, 0.1), width(512, 0.89)])[1]
