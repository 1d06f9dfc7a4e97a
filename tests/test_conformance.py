"""The scoreboard of profilers judges answers rightly, and this project's as any other's."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.conformance.page import planted_slots, share, table
from benchmarks.conformance.scenario import FWD, STEP, Scenario, Work, truth_of
from benchmarks.conformance.score import scored
from benchmarks.conformance.tools import ADAPTERS, OURS
from benchmarks.conformance.traces import scenarios
from benchmarks.conformance.truth import INCLUSIVE, OWN, PATH, SPAN, Answer
from benchmarks.conformance.writers import MICROSECOND, write_nsys, write_torch
from benchmarks.planted.other_tools import named

SCENARIO = Scenario(
    "small",
    "nesting",
    [STEP, FWD],
    [Work(150, 60, ("step", "fwd")), Work(500, 30, ("step",)), Work(1200, 10)],
)
TRUTH = truth_of(SCENARIO)


def test_the_truth_of_a_scenario_is_in_each_quantity() -> None:
    assert (TRUTH.total, TRUTH.nowhere, TRUTH.roots) == (100, 10, {"step"})
    assert TRUTH.sums[PATH] == {"step/fwd": 60, "step": 30}
    assert TRUTH.sums[OWN] == {"fwd": 60, "step": 30}
    assert TRUTH.sums[INCLUSIVE] == {"fwd": 60, "step": 90}
    assert TRUTH.sums[SPAN] == {"fwd": 60, "step": 535 - 155}


@pytest.mark.parametrize(
    ("answer", "attributed", "right", "told"),
    [
        (Answer({PATH: {"step/fwd": 60, "step": 30}}, 10), 0.9, 1.0, True),
        (Answer({PATH: {"step/fwd": 30, "step": 60}}, 10), 0.9, 0.7, True),
        (Answer({PATH: {"step/fwd": 60}}, 40), 0.6, 0.7, True),
        (Answer({OWN: {"fwd": 60, "step": 40}}, 0), 1.0, 0.9, True),
        (Answer({OWN: {"fwd": 60}}), 0.6, 0.6, False),
        (Answer({INCLUSIVE: {"fwd": 60, "step": 90}}, 10), 0.9, 1.0, True),
        (Answer({INCLUSIVE: {"fwd": 120, "step": 90}}, 10), 0.9, 160 / 220, True),
        (Answer({INCLUSIVE: {"step": 60}}, 10, libraries=30), 0.6, 70 / 160, True),
        (Answer({SPAN: {"fwd": 60, "step": 380}}), None, 1.0, False),
        (Answer({PATH: {}}, 100), 0.0, 0.1, True),
    ],
)
def test_an_answer_is_judged_by_the_quantity_that_it_reports(
    answer: Answer, attributed: float | None, right: float, told: bool
) -> None:
    score = scored(answer, TRUTH)
    assert (score.attributed, score.told) == (attributed, told)
    assert score.right == pytest.approx(right)


def test_no_answer_is_no_score() -> None:
    assert scored(Answer(refused="it is another format"), TRUTH).refused == "it is another format"
    assert scored(Answer(host_only=True), TRUTH, 1.5).right is None


def test_a_share_is_100_percent_only_if_it_is_all() -> None:
    assert [share(value) for value in (1.0, 0.99999, None)] == ["100 %", "99.9 %", "-"]
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_the_traces_are_many_and_each_is_consistent() -> None:
    found = scenarios()
    names = [scenario.name for scenario in found]
    assert len(found) >= 20 and len(set(names)) == len(names)
    for scenario in found:
        truth = truth_of(scenario)
        for quantity in (PATH, OWN):
            assert sum(truth.sums[quantity].values()) + truth.nowhere == truth.total


@pytest.mark.parametrize("name", ["small", "backward from autograd's thread"])
def test_this_projects_adapter_is_wholly_right(name: str, tmp_path: Path) -> None:
    known = {scenario.name: scenario for scenario in [*scenarios(), SCENARIO]}
    for write, unit in ((write_nsys, 1), (write_torch, MICROSECOND)):
        truth = truth_of(known[name], unit)
        answer, ended = ADAPTERS[OURS](write(known[name], tmp_path), truth, None)
        assert (scored(answer, truth).right, ended.status) == (1.0, 0), ended.error
        assert 5 < ended.peak_mb < 2000 and ended.seconds > 0


@pytest.mark.parametrize(
    ("mechanism", "labels", "is_named"),
    [
        ("item", "cuda_memcpy_async; cuda_api_sync", True),
        ("slow_loader", "cuda_memcpy_async; cuda_api_sync", False),
        ("item", "", False),
    ],
)
def test_a_tool_names_a_fault_if_one_of_its_labels_tells_the_cause(
    mechanism: str, labels: str, is_named: bool
) -> None:
    row = pd.Series({"mechanism": mechanism, "nsys_analyze": labels})
    assert named(row, "nsys_analyze") is is_named


def test_the_page_says_of_planted_faults_what_is_recorded() -> None:
    published = Path("docs/conformance.md").read_text(encoding="utf-8")
    assert all(rows in published for rows in planted_slots().values())
