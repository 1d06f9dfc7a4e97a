import torch

from tests.studies.tables import joined
from tests.workflow import ROOT
from workflow_src.measure import phases
from workflow_src.plan.config import load
from workflow_src.studies.points import points
from workflow_src.studies.tasks import rows
from workflow_src.studies.warmup.measure import tasks

SETTINGS = load(ROOT / "config.yaml")


def test_a_point_is_measured_in_both_phases(tmp_path):
    point = points("warmup", "cpu", "small", SETTINGS)[1] | {
        "device": "cpu",
        "context": 16,
        "steps": 3,
    }
    found = rows(tasks, point)
    assert [row["phase"] for row in found] == ["forward", "forward_backward"]
    about = ["config", "size", "context", "batch", "warmup_steps"]
    sizes = ["d_model", "d_ff", "layers", "heads"]
    outcome = ["phase", "status", "reason", "warmup_ns", "samples_ns"]
    for row in found:
        assert list(row) == [*about, *sizes, *outcome], "what is derived is not measured"
        assert (len(row["warmup_ns"]), len(row["samples_ns"])) == (1, 3)
    for row in joined(tmp_path, "warmup", [*found]).to_dict("records"):
        assert row["status"] == "ok"
        assert row["samples"] == 3
        assert row["first_step_ms"] > 0
        assert (row["d_model"], row["d_ff"], row["layers"], row["heads"]) == (128, 512, 2, 4)


def test_a_model_that_does_not_fit_is_measured_in_no_phase(monkeypatch):
    def full(case):
        raise torch.OutOfMemoryError("CUDA out of memory. x")

    monkeypatch.setattr(phases, "Workload", full)
    found = rows(tasks, points("warmup", "cpu", "small", SETTINGS)[0] | {"device": "cpu"})
    assert [row["status"] for row in found] == ["oom", "skipped"]
    assert found[1]["reason"] == "needs more memory than forward, which ran out"
