"""A test per verdict of (f)."""

import pandas as pd
import pytest

from workflow_src.answers.change_first.headline import Verdict, headline
from workflow_src.answers.change_first.result import ChangeFirst, Tally
from workflow_src.common.words import DASH
from workflow_src.render.show import Printer
from workflow_src.render.value import Value


def found(launches: int, precision: int, device: int) -> ChangeFirst:
    """A result with so many cases in which each comes first."""

    def tally(cases: int) -> Tally:
        return Tally(Value(cases, "count", ()), Value(0.25, "share", ()) if cases else None)

    none = pd.DataFrame()
    return ChangeFirst(
        phase="training step",
        known=tally(launches + precision + device),
        launches=tally(launches),
        precision=tally(precision),
        device=tally(device),
        summary=none,
        matrices=(),
        example=none,
        levers=none,
        opening=(),
    )


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ((1, 0, 0), Verdict.LAUNCHES_FIRST),
        ((0, 8, 2), Verdict.PRECISION_FIRST),
        ((0, 0, 3), Verdict.DEVICE_WORK_FIRST),
        ((7, 2, 1), Verdict.DEPENDS),
        ((0, 0, 0), Verdict.CANT_TELL),
    ],
)
def test_the_verdict_names_what_comes_first_in_four_of_five_cases(counts, verdict):
    said = headline(found(*counts))
    assert said.verdict is verdict
    assert DASH not in said.text(Printer())
