"""The verdicts on bf16 autocast."""

import pytest

from tests.studies.precision.test_result import found, timed
from workflow_src.paper.show import Printer
from workflow_src.studies.precision.chapter import Verdict, headline


@pytest.mark.parametrize(
    ("ms", "about", "verdict"),
    [
        ({"fp32": 9.0, "tf32": 5.0, "bf16": 4.0}, {}, Verdict.GAINS),
        ({"fp32": 9.0, "tf32": 3.0, "bf16": 4.0}, {}, Verdict.WHERE_LONG),
        ({"fp32": 9.0, "tf32": 3.0, "bf16": 4.0}, {"activities": 50}, Verdict.GAINS),
        ({"fp32": 9.0, "tf32": 3.0, "bf16": 4.0}, {"busy_share": None}, Verdict.GAINS),
        ({"fp32": 9.0, "tf32": 3.0, "bf16": 4.0}, {"device": "cpu"}, Verdict.GAINS),
        ({"fp32": 4.0, "bf16": 4.0}, {}, Verdict.NO_GAIN),
        ({"bf16": 4.0}, {}, Verdict.CANT_TELL),
    ],
)
def test_verdicts(ms: dict[str, float], about: dict[str, object], verdict: Verdict) -> None:
    said = headline(found(*(timed(precision, time, **about) for precision, time in ms.items())))
    assert said.verdict is verdict
    assert ("at most 20.0 us per kernel" in said.text(Printer())) == (verdict is Verdict.WHERE_LONG)


@pytest.mark.parametrize(
    ("phase", "name"), [("forward", "forward"), ("forward_backward", "forward + backward")]
)
def test_the_best_has_its_name_in_the_tables(phase: str, name: str) -> None:
    rows = timed("fp32", 8.0, measurement=phase), timed("bf16", 4.0, measurement=phase)
    assert headline(found(*rows)).text(Printer()) == (
        "bf16 autocast is faster than full precision in these comparisons: fp32: 1 of 1; at best "
        f"2.0 x (s, {name}, over fp32)."
    )
