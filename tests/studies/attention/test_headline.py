"""The verdicts on attention."""

import pytest

from tests.studies.attention.test_result import CROSSING, found, pair
from workflow_src.paper.show import Printer
from workflow_src.studies.attention.chapter import Verdict, headline


@pytest.mark.parametrize(
    ("rows", "verdict", "said"),
    [
        (CROSSING, Verdict.FASTER, "SDPA flash is 4.0 x as fast, in 12.0 against 48.0 ms"),
        (CROSSING[:2], Verdict.NONE_FASTER, "At context 128"),
        (CROSSING[:2] + pair("sdpa_math", 128, 0.95, 1.0), Verdict.NONE_FASTER, "its 3.00 ms"),
        (CROSSING[4:], Verdict.NO_WRITTEN_OUT, "at context 512, the longest measured, SDPA flash"),
        (CROSSING[:1], Verdict.CANT_TELL, "can't be told"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: Verdict, said: str) -> None:
    made = headline(found(*rows))
    assert made.verdict is verdict
    assert said in made.text(Printer())
