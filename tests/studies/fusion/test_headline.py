"""The verdicts on fusion."""

import pytest

from tests.studies.fusion.test_result import found, timed
from workflow_src.studies.fusion.chapter import Verdict, headline


@pytest.mark.parametrize(
    ("gelu", "softmax", "verdict"),
    [
        (8.0, 2.0, Verdict.PAYS),
        (8.0, 1.01, Verdict.PARTLY),
        (1.02, 0.5, Verdict.DOESNT),
        (None, None, Verdict.CANT_TELL),
    ],
)
def test_verdicts(gelu: float | None, softmax: float | None, verdict: Verdict) -> None:
    times = {"gelu": gelu, "softmax": softmax}
    rows = [timed("triton", 1.0, name) for name in times]
    rows += [timed("written_out", time, name) for name, time in times.items() if time]
    assert headline(found(*rows)).verdict is verdict
