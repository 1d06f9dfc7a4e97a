"""What the study matmul finds in small tables by hand."""

import pytest

from tests.studies.chapters import chapter, facts, run_of, texts
from tests.studies.matmul.rows import FINE, ODD, row, unmeasured
from tests.studies.tables import table
from workflow_src.common.words import DASH


def test_rates_stand_by_size_with_their_marks() -> None:
    rows = [
        row("sizes", 256, 2.0, busy_ms=0.001),
        row("sizes", 4096, 700.0),
        row("sizes", 4096, 50.0, precision="fp32"),
        unmeasured("sizes", "oom", n=16384),
        unmeasured("sizes", "skipped", precision="fp8"),
    ]
    found = facts("matmul", table(*rows))
    rates = found["rates"]
    assert [float(n) for n in rates["n"]] == [256, 4096, 16384]
    assert texts(rates["bf16"][1:]) == ["700", "OOM"] and rates["bf16"].iloc[0][1] == " †"
    assert texts(rates["fp32"]) == [DASH, "50.0", DASH]
    assert texts(rates["fp8"]) == ["skipped"] * 3
    assert found["missing"]["what"].tolist() == ["bf16 sizes 16384", "fp8 sizes"]
    assert found["fastest"]["n"] == 4096 and found["fastest"]["rate"].rows == {
        ("studies/matmul", 3)
    }


def test_a_cpu_waits_for_no_launches() -> None:
    found = facts("matmul", [row("sizes", 256, 2.0, busy_ms=0.001, gpu=None)])
    assert texts(found["rates"]["bf16"]) == ["2.00"]


def test_a_rate_has_the_ends_and_the_digits_of_its_times() -> None:
    """A product of 1 ms whose slow samples take 1.25 and whose fast ones 0.8 ms."""
    found = facts("matmul", [row("sizes", 5000, 250.0, p80_ms=1.25, p20_ms=0.8)])
    (rate,) = found["rates"]["bf16"]
    assert [float(end) for end in rate.ends] == [200.0, 312.5] and str(rate) == "250"


@pytest.mark.parametrize(
    ("rates", "half"),
    [((60.0, 10.0, 100.0, 70.0), "512"), ((60.0, 100.0, 10.0), DASH), ((60.0, 100.0), "128")],
)
def test_half_is_reached_only_where_no_larger_size_falls_below(
    rates: tuple[float, ...], half: str
) -> None:
    rows = [row("sizes", 128 * 2**i, rate) for i, rate in enumerate(rates)]
    assert texts(facts("matmul", rows)["best"]["half"]) == [half]


def test_the_best_rate_with_the_datasheet_of_a_known_gpu() -> None:
    rows = [row("sizes", 2048, 494.5), row("sizes", 1024, 100.0)]
    best = facts("matmul", rows)["best"]
    assert texts(best["share"]) == ["50 %"] and texts(best["n"]) == ["2048"]
    other = facts("matmul", [each | {"gpu": "NVIDIA H100 PCIe"} for each in rows])["best"]
    assert texts(other["sheet"]) == texts(other["share"]) == [DASH]


def test_unaligned_rows_are_held_against_aligned_ones() -> None:
    found = facts("matmul", [*FINE, *ODD])
    assert [float(found[name]) for name in ("aligned", "odd", "even")] == [550, 100, 200]
    assert float(found["lost"]) == pytest.approx(1 - 150 / 550)
    assert found["divisors"]["after"].tolist() == ["sm90", "sm90", "sm75", "sm75"]


def test_in_float32_rows_of_a_multiple_of_4_are_aligned() -> None:
    found = facts("matmul", [row("divisibility", n, n, precision="fp32") for n in (2044, 2046)])
    assert (float(found["aligned"]), float(found["even"])) == (2044, 2046)


def test_divisors_by_their_medians() -> None:
    found = facts("matmul", [*FINE, *ODD, row("divisibility", 2045, 140.0)])["divisors"]
    assert texts(found["divisor"]) == ["32", "8", "2", "1"]
    assert texts(found["rate"]) == ["600", "500", "200", "120"]
    assert (str(found["least"].iloc[3]), str(found["most"].iloc[3])) == ("100", "140")


def test_sizes_around_an_edge_stand_against_the_one_before_in_their_sweep() -> None:
    sizes = ((2272, 450, 2), (2240, 600, 1), (2304, 500, None))
    rows = [row("edge", n, rate, waves=waves, edge=2048) for n, rate, waves in sizes]
    found = facts("matmul", [*rows, row("past_edge", 2048, 500)])
    assert texts(found["edge"]["change"]) == [DASH, "-25 %", "+11 %", DASH]
    places = {"edge of 128x256, n = 2048": 2048, "2 waves from n = 2272": 2272}
    assert found["figure"].panels[1].places == places


UNNAMED = [each | {"kernel": "gemv"} for each in ODD]


@pytest.mark.parametrize(
    ("rows", "verdict", "said"),
    [
        ([*FINE, *ODD], "older kernels", "cost 73 %, as older GPUs' kernels"),
        ([*FINE, *UNNAMED], "slower", "cost 73 % of the rate"),
        ([*FINE, row("divisibility", 2047, 580)], "not slower", "less than 5 %"),
        (FINE, "rates", "(bf16, n = 2048) reaches 600 TFLOP/s."),
        ([row("sizes", 64, 1.0)], "rates", "reaches 1.00"),
        ([unmeasured("sizes", "oom", n=64)], "can't tell", "No product was measured"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: str, said: str) -> None:
    found = chapter("matmul", run_of("matmul", table(*rows)))
    assert found.verdict == verdict and said in found.markdown["headline"]
