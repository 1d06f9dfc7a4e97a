"""The levers study on a CUDA device: run with `python -m pytest -m gpu`."""

import copy
from typing import Any

import pytest
import torch

from tests.on_gpu import ON_GPU
from workflow_src.studies.levers.measure import built, call_of, case_at, tasks
from workflow_src.studies.levers.variants import combined, variants
from workflow_src.studies.points import points
from workflow_src.studies.tasks import rows

pytestmark = ON_GPU

SIZES = {"mini": {"d_model": 128, "d_ff": 256, "layers": 2, "heads": 2}}
SETTINGS = {"sizes": SIZES, "vocabulary": 500, "levers_cases": ["mini-ctx64-fp32"]}
SHORT = {"device": "cuda", "steps": 3, "warmup_steps": 2}
EXACT = {"logits": 1e-4, "gradients": 1e-3}
NARROW = {"logits": 0.1, "gradients": 0.2}


def point(name: str) -> dict[str, Any]:
    made = {row["variant"]["name"]: row for row in points("levers", "cuda", "full", SETTINGS)}
    return made[name] | SHORT


@pytest.mark.parametrize("name", [variant.name for variant in variants("fp32", "cuda")])
def test_every_variant_runs_and_its_results_are_near(name: str) -> None:
    given = point(name)
    found = rows(tasks, given)
    assert [row for row in found if row["status"] != "ok"] == []
    (error,) = [row for row in found if row["measurement"] == "error"]
    most = NARROW if given["variant"]["precision"] == "bf16" else EXACT
    assert error["logits_error"] <= most["logits"]
    assert error["gradients_error"] <= most["gradients"]
    phases = [row for row in found if row["measurement"] == "phase"]
    assert all(row["activities"] for row in phases)


def test_a_graph_of_the_whole_step_updates_as_eager_steps_do() -> None:
    """Three steps warm up before the capture, which itself runs nothing."""
    case, graph = case_at(point("fused")), combined("fused", "graph")
    (replayed, _), (eager, _) = built(graph, case), built(combined("fused"), case)
    assert replayed and eager
    start = copy.deepcopy(replayed.model.state_dict())
    assert all(torch.equal(start[k], v) for k, v in eager.model.state_dict().items())
    step = call_of(replayed, graph, "train_step")
    for _ in range(4):
        step()
    for _ in range(3 + 4):
        eager.train_step()
    found = replayed.model.state_dict()
    for name, value in eager.model.state_dict().items():
        assert torch.equal(found[name], value), name
        assert not torch.equal(start[name], value), name
