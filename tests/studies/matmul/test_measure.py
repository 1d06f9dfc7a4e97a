"""What the study matmul measures."""

import pytest

from workflow_src.measure import timing
from workflow_src.measure.timing import plan_repeats, time_within
from workflow_src.studies.matmul.measure import divisibility_sizes, tasks
from workflow_src.studies.points import points


@pytest.mark.parametrize(
    ("rough_ms", "repeats"),
    [(0.01, (100, 50)), (0.1, (10, 50)), (4.0, (1, 25)), (200.0, (1, 5))],
)
def test_repeats_follow_the_budget(rough_ms, repeats):
    assert plan_repeats(rough_ms, budget_ms=100.0, sample_ms=1.0) == repeats


def test_a_call_too_short_for_the_clock_is_repeated(monkeypatch):
    monkeypatch.setattr(timing, "time_call", lambda call, device, warmup, steps: [0] * steps)
    found = time_within(lambda: None, "cpu", 100.0, 1.0)
    assert found["calls_per_sample"] == timing.MOST_CALLS and len(found["samples_ns"]) == 50


def test_sizes_near_one_another_are_in_no_order():
    point = points("matmul", "cuda", "full", {})[1] | {"device": "cuda"}
    sizes = [task.about["n"] for task in tasks(point)]
    assert sizes != sorted(sizes) == divisibility_sizes(2048)
