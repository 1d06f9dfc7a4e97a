"""What the study matmul measures."""

import pytest
import torch

from tests.studies.tables import filled, joined
from workflow_src.measure import timing
from workflow_src.measure.timing import plan_repeats, time_within
from workflow_src.studies.matmul.measure import tasks
from workflow_src.studies.matmul.tiles import divisibility_sizes
from workflow_src.studies.points import points
from workflow_src.studies.tasks import rows as measured

SWEEPS = ("edge", "past_edge", "divisibility")


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
    edge, *divisors = filled(joined(tmp_path, "matmul", measured(tasks, fine | {"near": 128})))
    assert (edge["sweep"], edge["status"]) == ("edge", "skipped")
    assert {r["divisor"] for r in divisors} == {1, 2, 8, 16, 32}


def test_the_fine_sweeps_of_a_gpu_are_around_its_edge(monkeypatch):
    """As on a GPU of 132 multiprocessors, of which only the number is asked here."""
    gpu = type("Properties", (), {"multi_processor_count": 132})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: gpu)
    point = points("matmul", "cuda", "full", {})[1] | {"device": "cuda"}
    rows = [task.about for task in tasks(point)]
    sizes = {sweep: [row["n"] for row in rows if row["sweep"] == sweep] for sweep in SWEEPS}
    assert sorted(sizes["edge"]) == list(range(1792, 2305, 32)) != sizes["edge"]
    assert sorted(sizes["past_edge"]) == [2048, 2049, 2056]
    assert sorted(sizes["divisibility"]) == divisibility_sizes(2048)
    assert (rows[0]["multiprocessors"], rows[0]["edge"]) == (132, 2048)
