"""A test per verdict of (d)."""

from dataclasses import replace

import pytest

from tests.answers.subsets import empty
from workflow_src.answers.gemm_share.headline import Verdict, headline
from workflow_src.answers.gemm_share.result import GemmShare, result
from workflow_src.paper.show import Printer
from workflow_src.paper.value import Value


def found(compared: int, falling: int, by_optimizer: int, by_backward: int) -> GemmShare:
    """A result with so many cases."""
    counts = {"compared": compared, "falling": falling, "known": by_optimizer + by_backward}
    counts |= {"by_optimizer": by_optimizer, "by_backward": by_backward, "rising": 0}
    values = {name: Value(number, "count", ()) for name, number in counts.items()}
    return replace(result(empty()), **values)


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ((20, 19, 15, 4), Verdict.FALLS_BY_OPTIMIZER),
        ((20, 19, 4, 15), Verdict.FALLS_BY_BACKWARD),
        ((20, 19, 10, 9), Verdict.FALLS),
        ((1, 1, 0, 0), Verdict.FALLS),
        ((20, 10, 10, 0), Verdict.DEPENDS),
        ((20, 0, 0, 0), Verdict.RISES_OR_SAME),
        ((0, 0, 0, 0), Verdict.CANT_TELL),
    ],
)
def test_the_verdict_says_what_holds_in_most_cases(counts, verdict):
    said = headline(found(*counts))
    assert said.verdict is verdict
    assert len(str(said.text(Printer())).split()) <= 45
