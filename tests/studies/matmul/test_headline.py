"""A table for each verdict of the study matmul."""

import pytest

from tests.studies.matmul.rows import FINE, ODD, row, unmeasured
from tests.studies.tables import verdict_of

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
    for part in ("900 TFLOP/s (fp8, n = 8192)", "sm75 in place of sm90", "150", "550"):
        assert part in said
