"""What the study accounting finds in small tables by hand."""

from typing import Any

import pandas as pd
import pytest

from tests.studies.accounting.rows import CEILINGS, component, model, phase
from tests.studies.chapters import chapter, run_of, texts
from tests.studies.tables import table
from workflow_src.common.words import DASH
from workflow_src.paper.run import Run
from workflow_src.studies.accounting.chapter import facts


def run(*rows: dict[str, Any], ceilings: bool = True) -> Run:
    """A run with these rows, on a machine with CEILINGS."""
    return run_of("accounting", table(*rows), pd.DataFrame(CEILINGS) if ceilings else None)


def test_utilization_is_of_the_best_product_and_only_where_the_device_works() -> None:
    found = facts(run(model(), phase(), phase("train_step")))
    assert texts(found["phases"]["reached"]) == ["40 %", DASH]
    sizes = found["sizes"]
    assert texts(sizes["forward_reached"]) == ["40 %"] and texts(sizes["forward_works"]) == ["95 %"]
    assert texts(facts(run(phase(busy_ms=0.89)))["sizes"]["forward_reached"]) == [DASH]
    on_cpu = facts(run(phase(gpu=None)))["sizes"]
    assert texts(on_cpu["forward_reached"]) == ["40 %"] and texts(on_cpu["forward_works"]) == [DASH]


LARGE = phase(size="large", flops=8e9)


@pytest.mark.parametrize(
    ("rows", "ceilings", "verdict", "said"),
    [
        ([model(), phase(), LARGE], True, "memory and rates", "within 10 %; whole"),
        ([phase(), LARGE], True, "memory and rates", "reach 40 % to 80 % of"),
        ([model(), phase()], False, "memory", "within 10 %; no"),
        ([phase(peak_mib=None)], True, "rates", "Whole forward passes reach 40 %"),
        ([model(), phase(status="oom")], True, "formulas", "has 95 % of its exact"),
        ([component("qkv", 50, 8.0)], True, "can't tell", "can't be told"),
    ],
)
def test_verdicts(rows: list[dict[str, Any]], ceilings: bool, verdict: str, said: str) -> None:
    found = chapter("accounting", run(*rows, ceilings=ceilings))
    assert found.verdict == verdict and said in found.markdown["headline"]
