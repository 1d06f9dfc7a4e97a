"""What the study matmul measures."""

import pytest

from tests.studies.tables import filled, joined
from workflow_src.measure import timing
from workflow_src.measure.timing import plan_repeats, time_within
from workflow_src.studies.matmul.measure import divisibility_sizes, tasks
from workflow_src.studies.points import points
from workflow_src.studies.tasks import rows as measured


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


def test_measuring_on_a_cpu(tmp_path):
    on_cpu = {"device": "cpu", "budget_ms": 1.0}
    sizes, fine = (point | on_cpu for point in points("matmul", "cpu", "small", {}))
    raw = measured(tasks, sizes | {"n": [16, 256]})
    about = {"sweep", "precision", "n", "device", "status", "reason"}
    assert set(raw[0]) == about | {"samples_ns", "calls_per_sample", "activities"}
    assert "short_name" not in raw[0]["activities"][0], "names are derived, not measured"
    rows = filled(joined(tmp_path, "matmul", raw))
    assert [(r["precision"], r["n"], r["status"]) for r in rows] == [
        ("fp32", 16, "ok"), ("fp32", 256, "ok"), ("tf32", None, "skipped"),
        ("bf16", 16, "ok"), ("bf16", 256, "ok"), ("fp8", None, "skipped"),
    ]  # fmt: skip
    assert rows[1]["tflops"] == pytest.approx(2 * 256**3 / rows[1]["median_ms"] / 1e9)
    assert rows[1]["kernel"] == "aten::mm"
    divisors = filled(joined(tmp_path, "matmul", measured(tasks, fine | {"top": 128})))
    assert {r["divisor"] for r in divisors} == {1, 2, 8, 16, 32}


def test_sizes_near_one_another_are_in_no_order():
    point = points("matmul", "cuda", "full", {})[1] | {"device": "cuda"}
    sizes = [task.about["n"] for task in tasks(point)]
    assert sizes != sorted(sizes) == divisibility_sizes(2048)
