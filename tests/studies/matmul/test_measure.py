"""What the study matmul measures."""

import pytest
import torch

from tests.studies.matmul.test_analyze import activity, joined
from tests.workflow import ROOT
from workflow_src.measure import timing
from workflow_src.measure.timing import plan_repeats, time_within
from workflow_src.plan.config import load
from workflow_src.studies.matmul import measure as matmul_measure
from workflow_src.studies.matmul import tiles as matmul_tiles
from workflow_src.studies.matmul.points import SIZES, points

SETTINGS = load(ROOT / "config.yaml")


def test_points_have_ids_of_their_own():
    for device, scale in SIZES:
        ids = [point["point"] for point in points(device, scale, SETTINGS)]
        assert ids == ["sizes", "fine"]


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
    sizes, fine = (point | on_cpu for point in points("cpu", "small", SETTINGS))
    raw = matmul_measure.measure(sizes | {"sizes": [16, 32]})
    about = ["sweep", "precision", "n", "status", "reason"]
    assert list(raw[0]) == [*about, "samples_ns", "calls_per_sample", "activities"]
    assert set(raw[0]["activities"][0]) == set(activity("", 0)), "names are derived, not measured"
    rows = joined(tmp_path, raw)
    assert [(r["precision"], r["n"], r["status"]) for r in rows] == [
        ("fp32", 16, "ok"), ("fp32", 32, "ok"), ("tf32", None, "skipped"),
        ("bf16", 16, "ok"), ("bf16", 32, "ok"), ("fp8", None, "skipped"),
    ]  # fmt: skip
    assert rows[1]["tflops"] == pytest.approx(2 * 32**3 / rows[1]["median_ms"] / 1e9)
    assert rows[1]["kernel"] == "aten::mm"
    edge, *divisors = joined(tmp_path, matmul_measure.measure(fine | {"near": 128}))
    assert (edge["sweep"], edge["status"]) == ("edge", "skipped")
    assert {r["divisor"] for r in divisors} == {1, 2, 8, 16, 32}


def test_the_fine_sweeps_of_a_gpu_are_around_its_edge(monkeypatch):
    """As on a GPU of 132 multiprocessors, of which only the number is asked here."""
    monkeypatch.setattr(
        torch.cuda,
        "get_device_properties",
        lambda index: type("Properties", (), {"multi_processor_count": 132}),
    )
    monkeypatch.setattr(
        matmul_measure, "measure_product", lambda n, precision, point: {"n": n, "status": "ok"}
    )
    fine = points("cuda", "full", SETTINGS)[1] | {"device": "cuda"}
    rows = matmul_measure.measure(fine)
    edge = [row for row in rows if row["sweep"] == "edge"]
    assert [row["n"] for row in edge] == list(range(1792, 2305, 32))
    assert {(row["multiprocessors"], row["edge"]) for row in edge} == {(132, 2048)}
    past, divided = rows[len(edge) : len(edge) + 3], rows[len(edge) + 3 :]
    assert [(row["sweep"], row["n"]) for row in past] == [
        ("past_edge", n) for n in (2048, 2049, 2056)
    ]
    assert [row["n"] for row in divided] == matmul_tiles.divisibility_sizes(2048)
    assert set(edge[0]) == {"sweep", "precision", "multiprocessors", "edge", "n", "status"}
