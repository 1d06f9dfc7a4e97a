"""The verdicts on warm-up."""

import pandas as pd
import pytest

from tests.studies.tables import table
from tests.studies.warmup.test_result import run
from workflow_src.render.show import Printer
from workflow_src.studies.warmup.headline import Verdict, headline
from workflow_src.studies.warmup.result import result


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
