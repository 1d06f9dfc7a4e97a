"""A test per verdict of (e)."""

from dataclasses import replace

import pytest

from tests.answers.subsets import empty
from workflow_src.answers.softmax.headline import Verdict, headline
from workflow_src.answers.softmax.result import Softmax, SoftmaxCase, result
from workflow_src.answers.tables import CaseKey
from workflow_src.paper.show import Printer
from workflow_src.paper.value import Value


def found(ratios: dict[str, float], longer: int = 0, fused: int = 0) -> Softmax:
    """A result of ten cases, with these medians by precision."""
    counts = {"compared": 10 if ratios else 0, "longer": longer, "counted": 10, "more": 10}
    return replace(
        result(empty()),
        **{name: Value(number, "count", ()) for name, number in counts.items()},
        ratios={name: Value(number, "times", ()) for name, number in ratios.items()},
        flops=Value(0.02, "times", ()),
        fused=fused,
    )


def disturbed(fused: int) -> Softmax:
    """A result in which softmax was measured apart in one case, beside other work."""
    case = CaseKey("gpt2-eager-fp32", "gpt2", 0, 0, "fp32", "eager", "own", "cpu")
    return replace(found({}, fused=fused), cases=(SoftmaxCase(case, "ok"),))


@pytest.mark.parametrize(
    ("result_", "verdict"),
    [
        (found({"fp32": 1.2, "tf32": 2.8, "bf16": 7.8}, longer=9), Verdict.LONGER_BY_PRECISION),
        (found({"fp32": 1.2}, longer=10), Verdict.LONGER),
        (found({"fp32": 0.8, "bf16": 4.0}, longer=5), Verdict.BY_PRECISION),
        (found({"fp32": 0.8, "bf16": 0.9}, longer=2), Verdict.OFTEN_SHORTER),
        (found({"fp32": 1.1}, longer=6), Verdict.OFTEN_SHORTER),
        (found({}, fused=3), Verdict.FUSED),
        (found({}), Verdict.CANT_TELL),
        (disturbed(fused=0), Verdict.CANT_TELL),
        (disturbed(fused=3), Verdict.CANT_TELL),
    ],
)
def test_the_verdict_says_where_softmax_takes_longer(result_, verdict):
    said = headline(result_)
    assert said.verdict is verdict
    assert len(str(said.text(Printer())).split()) <= 45
