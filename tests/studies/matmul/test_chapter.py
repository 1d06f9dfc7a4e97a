"""What the study matmul finds in small tables by hand."""

import pytest

from tests.studies.matmul.rows import FINE, ODD, row, unmeasured
from tests.studies.tables import cells, result_of, table_of, verdict_of
from workflow_src.common.words import DASH
from workflow_src.paper.show import Printer
from workflow_src.studies.matmul.figure import draw
from workflow_src.studies.matmul.products import changes, measured, more_waves, products


def test_rates_stand_by_size_with_their_marks() -> None:
    found = result_of(
        "matmul",
        [
            row("sizes", 256, 2.0, busy_ms=0.001),
            row("sizes", 4096, 700.0, p80_ms=1.0),
            row("sizes", 4096, 50.0, precision="fp32"),
            unmeasured("sizes", "oom", n=16384),
            unmeasured("sizes", "skipped", precision="fp8"),
        ],
    )
    assert list(found.rates["n"]) == [256, 4096, 16384]
    assert cells(found.rates, "bf16") == ["2.00 (w)", "700 (u)", "OOM"]
    assert cells(found.rates, "fp32") == [DASH, "50.0", DASH]
    assert cells(found.rates, "fp8") == ["skipped"] * 3
    assert cells(found.missing, "without") == ["bf16 sizes, n = 16384", "fp8 sizes"]
    assert (found.fastest.n, found.fastest.rate.sources[0].numbers) == (4096, (3,))


def test_a_cpu_waits_for_no_launches() -> None:
    found = result_of("matmul", [row("sizes", 256, 2.0, busy_ms=0.001, gpu=None)])
    assert cells(found.rates, "bf16") == ["2.00"]


@pytest.mark.parametrize(
    ("rates", "half"),
    [((60.0, 10.0, 100.0, 70.0), "512"), ((60.0, 100.0, 10.0), DASH), ((60.0, 100.0), "128")],
)
def test_half_is_reached_only_where_no_larger_size_falls_below(
    rates: tuple[float, ...], half: str
) -> None:
    rows = [row("sizes", 128 * 2**i, rate) for i, rate in enumerate(rates)]
    best = result_of("matmul", rows).best
    assert (cells(best, "half")[0] if "half of it from n" in best else DASH) == half


def test_the_best_rate_with_the_datasheet_of_a_known_gpu() -> None:
    rows = [row("sizes", 2048, 494.5), row("sizes", 1024, 100.0)]
    best = result_of("matmul", rows).best
    assert cells(best, "of datasheet") == ["50 %"] and cells(best, "at n") == ["2048"]
    other = result_of("matmul", [each | {"gpu": "NVIDIA H100 PCIe"} for each in rows]).best
    assert not [name for name in other if "datasheet" in name]


def test_unaligned_rows_are_held_against_aligned_ones() -> None:
    found = result_of("matmul", [*FINE, *ODD]).alignment
    assert (
        found.aligned.number == 550 and Printer()(found.unaligned) == "100 (n odd) or 200 (n even)"
    )
    assert found.lost.number == pytest.approx(1 - 150 / 550)
    assert (found.older, found.newer) == ("sm75", "sm90")


@pytest.mark.parametrize("kernel", ["nvjet_tst_128x256", "sm100_xmma_gemm_bf16", "gemv"])
def test_kernels_are_older_only_where_all_names_tell(kernel: str) -> None:
    odd = [each | {"kernel": kernel} for each in ODD]
    assert result_of("matmul", [*FINE, *odd]).alignment.older == ""


def test_in_float32_rows_of_a_multiple_of_4_are_aligned() -> None:
    rows = [row("divisibility", n, 50.0, precision="fp32") for n in (2044, 2046)]
    assert [each.aligned for each in products(table_of(rows))] == [True, False]


def test_divisors_by_their_medians() -> None:
    found = result_of("matmul", [*FINE, *ODD, row("divisibility", 2045, 140.0)]).divisors
    assert cells(found, "largest") == ["32", "8", "2", "1"]
    assert cells(found, "median") == ["600", "500", "200", "120 (100 to 140)"]


def test_waves_are_those_of_the_tile_that_ran_and_not_of_an_older_tables_column() -> None:
    rows = [
        row("edge", n, rate, tile=tile, multiprocessors=132, edge=2048, waves=9)
        for n, rate, tile in ((2240, 600, "320x128"), (2272, 450, "256x80"), (2304, 500, ""))
    ]
    found = measured(products(table_of(rows)), "edge")
    assert [each.covered for each in found] == [(126, 1), (261, 2), (None, None)]
    assert more_waves(found) is found[1] and more_waves(found[:1]) is None
    assert [each and round(each.number, 3) for each in changes(found)] == [None, -0.25, 0.111]
    table = result_of("matmul", rows).edge
    assert cells(table, "against") == [DASH, "-25 %", "+11 %"]
    (axes,) = draw(table_of(rows)).axes
    assert [line.get_label() for line in axes.get_lines()][1:] == [
        "edge of 128x256, n = 2048",
        "2 waves from n = 2272",
    ]


def test_the_figure_has_a_panel_per_sweep() -> None:
    rows = [row("sizes", 128, 1.0), row("edge", 2048, 5.0), row("divisibility", 2047, 9.0)]
    titles = ["by size", "across a tile edge", "by what divides n"]
    assert [axes.get_title() for axes in draw(table_of(rows)).axes] == titles
    assert not draw(table_of([unmeasured("sizes", "oom", n=8)])).axes


UNNAMED = [each | {"kernel": "gemv"} for each in ODD]
FAST = [row("divisibility", 2047, 580)]


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([*FINE, *ODD], "OLDER_KERNELS"),
        ([*FINE, *UNNAMED], "SLOWER"),
        ([*FINE, *FAST], "NOT_SLOWER"),
        (FINE, "RATES"),
        ([row("sizes", 64, 1.0)], "RATES"),
        ([unmeasured("sizes", "oom", n=64)], "CANT_TELL"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: str) -> None:
    assert verdict_of("matmul", rows)[0] == verdict


def test_the_numbers_of_a_verdict() -> None:
    _, said = verdict_of("matmul", [*FINE, *ODD, row("sizes", 8192, 900, precision="fp8")])
    best = "The fastest product (fp8, n = 8192) reaches 900 TFLOP/s."
    for part in (best, "(sm75, not sm90)", "200 (n even) elsewhere", "550 TFLOP/s where 8"):
        assert part in said


def test_an_unsteady_best_rate_stands_with_its_range() -> None:
    """A product of 1 ms whose slow samples take 1.25 and whose fast ones 0.8 ms."""
    rows = [row("sizes", 5000, 250.0, p80_ms=1.25, p20_ms=0.8), row("sizes", 128, 1.0)]
    assert (
        "reaches 250 (20th to 80th percentile: 200 to 312) TFLOP/s" in verdict_of("matmul", rows)[1]
    )
