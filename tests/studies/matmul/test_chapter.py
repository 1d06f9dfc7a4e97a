"""What the study matmul finds in small tables by hand."""

import pytest

from tests.studies.chapters import chapter, facts, run_of, texts
from tests.studies.matmul.rows import FINE, ODD, row, unmeasured
from tests.studies.tables import table
from workflow_src.common.words import DASH


@pytest.mark.parametrize(
    ("rates", "half"),
    [((60.0, 10.0, 100.0, 70.0), "512"), ((60.0, 100.0, 10.0), DASH), ((60.0, 100.0), "128")],
)
def test_half_is_reached_only_where_no_larger_size_falls_below(
    rates: tuple[float, ...], half: str
) -> None:
    rows = [row("sizes", 128 * 2**i, rate) for i, rate in enumerate(rates)]
    assert texts(facts("matmul", rows)["best"]["half"]) == [half]


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
