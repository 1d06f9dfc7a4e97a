"""The verdicts on warm-up."""

import pandas as pd
import pytest

from tests.studies.tables import table
from tests.studies.warmup.test_result import run
from workflow_src.paper.show import Printer
from workflow_src.studies.warmup.chapter import Verdict, headline, result


@pytest.mark.parametrize(
    ("means", "verdict", "said"),
    [
        ({0: 10.1, 1: 10.0}, Verdict.ALWAYS, "tried, 0,"),
        ({0: 20.0, 1: 11.0, 5: 10.0}, Verdict.ENOUGH, "step: 5. With fewer"),
        ({0: 20.0, 1: 12.0}, Verdict.NOT_ENOUGH, "with 1, one is"),
        ({}, Verdict.CANT_TELL, "can't be told"),
    ],
)
def test_verdicts(means: dict[int, float], verdict: Verdict, said: str) -> None:
    rows = [run(steps, mean) for steps, mean in means.items()]
    never = run(7, 99.0, settled_after_steps=None)
    found = headline(result(table(*rows, never), pd.DataFrame()))
    assert found.verdict is verdict
    assert said in found.text(Printer())


@pytest.mark.parametrize(
    ("phase", "name"), [("forward", "forward"), ("forward_backward", "forward + backward")]
)
def test_the_worst_has_its_name_in_the_tables(phase: str, name: str) -> None:
    rows = [run(0, 20.0, phase=phase), run(1, 10.0, phase=phase)]
    assert headline(result(table(*rows), pd.DataFrame())).text(Printer()) == (
        "Warm-up steps after which no mean is over 5 % above a settled step: 1. With fewer, one is "
        f"+100 % above it (t, {name})."
    )
