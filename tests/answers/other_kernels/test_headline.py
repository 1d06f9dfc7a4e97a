"""A test per verdict of (c)."""

from dataclasses import replace

import pytest

from tests.answers.subsets import empty
from workflow_src.answers.among import Among
from workflow_src.answers.other_kernels.headline import Verdict, headline
from workflow_src.answers.other_kernels.result import result
from workflow_src.paper.show import Printer
from workflow_src.paper.value import Value


@pytest.mark.parametrize(
    ("over", "of", "leader", "verdict"),
    [
        (34, 60, "softmax", Verdict.MOST),
        (1, 1, "softmax", Verdict.MOST),
        (0, 20, "softmax", Verdict.LESS),
        (0, 2, "", Verdict.NOTHING),
        (0, 0, "", Verdict.CANT_TELL),
    ],
)
def test_the_verdict_says_how_much_is_no_product(over, of, leader, verdict):
    counted = Among(Value(over, "count", ()), Value(of, "count", ()))
    medians = {name: Value(0.5, "share", ()) for name in ("fp32", "tf32", "bf16")}
    about = {"over_half": counted, "leads": counted, "leader": leader, "medians": medians}
    said = headline(replace(result(empty()), **about))
    assert said.verdict is verdict
    assert len(str(said.text(Printer())).split()) <= 45
