"""What the study ranks tells of a table."""

from typing import Any

import pytest

from tests.studies.chapters import chapter, facts, run_of, texts
from tests.studies.ranks.rows import reduced, way
from tests.studies.tables import table
from workflow_src.common.words import DASH

PEAKS: dict[str, Any] = {
    "before_optimizer_mib": 4096.0,
    "optimizer_mib": 3072.0,
    "initialized_mib": 1024.0,
}
NAIVE = way("naive", 112.0, recorded_ms=224.0, communication_ms=12.0, exposed_ms=11.0, **PEAKS)
ALONE = way("alone", 100.0, **PEAKS)
WAITS: dict[str, Any] = {"precision": "bf16", "compute_ms": 50.0}


def test_only_steps_that_do_not_wait_for_launches_are_scored() -> None:
    near: dict[str, Any] = {"predicted_step_ms": 115.0}
    rows = [ALONE, NAIVE | near, way("flat", 112.0, predicted_step_ms=116.0)]
    rows += [way("alone", 100.0, **WAITS), way("naive", 112.0, **near, **WAITS)]
    found = facts("ranks", table(*rows))
    assert str(found["foretold"]) == "1 of 2"
    assert texts(found["ways"]["off"]) == [DASH, "+3 %", "+4 %", DASH, "+3 %"]


@pytest.mark.parametrize(("host", "said"), [("a", ""), ("b", " (of another host)"), ("", "")])
def test_all_reduces_of_another_host_are_told(host: str, said: str) -> None:
    """A case that waits for launches isn't foretold, so its host doesn't count."""
    waits = WAITS | {"host_id": "b", "predicted_step_ms": 1.0}
    naive = NAIVE | {"host_id": "a", "predicted_step_ms": 115.0}
    rows = [reduced(10**9, 360.0, host_id=host), ALONE | {"host_id": "a"}, naive]
    rows += [way("alone", 100.0, **waits), way("naive", 112.0, **waits)]
    assert facts("ranks", table(*rows))["elsewhere"] == said


@pytest.mark.parametrize(
    ("rows", "verdict", "said"),
    [
        ([ALONE, NAIVE, way("overlapped", 105.0)], "little", "of 2.7B fp32 takes 1.05 × as long"),
        ([ALONE, NAIVE, way("overlapped", 105.1)], "much", "with the worst way 1.12 ×."),
        ([way("alone", 106.0), NAIVE], "waits", "works for 90 % of a step"),
        ([ALONE, way("naive", 112.0, gradient_error=2e-4)], "wrong", "off by 0.0002"),
        ([ALONE, way("naive", 112.0, parameter_error=0.02)], "wrong", "After naive"),
        ([way("alone", 5.0, gpu=False), way("naive", 9.0, gpu=False)], "on a CPU", "1e-06"),
        ([ALONE], "can't tell", "can't be told"),
        ([NAIVE], "can't tell", "can't be told"),
        ([ALONE, way("naive", None, status="oom")], "can't tell", "can't be told"),
        (
            [ALONE, NAIVE, way("alone", 100.0, **WAITS), way("fsdp", 300.0, **WAITS)],
            "much",
            "takes 1.12 × as long as without it (naive",
        ),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: str, said: str) -> None:
    found = chapter("ranks", run_of("ranks", table(*rows)))
    assert found.verdict == verdict and said in found.markdown["headline"]
