"""What the study accounting measures."""

from typing import Any

import pytest
import torch

from tests.workflow import ROOT
from workflow_src.measure import phases
from workflow_src.measure.workload import Workload
from workflow_src.plan.config import load
from workflow_src.studies.accounting import measure
from workflow_src.studies.points import points
from workflow_src.studies.tasks import rows


def small_point() -> dict[str, Any]:
    (point,) = points("accounting", "cpu", "small", load(ROOT / "config.yaml"))
    numbers = {"d_model": 8, "d_ff": 12, "layers": 1, "heads": 2}
    return point | {
        "device": "cpu", "sizes": {"one": numbers}, "measured": ["one"], "vocabulary": 50,
        "context": 8, "steps": 1,
    }  # fmt: skip


def measured() -> list[dict[str, Any]]:
    return rows(measure.tasks, small_point())


def full(*_: Any) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")


@pytest.mark.parametrize(
    ("where", "name", "states"),
    [
        (Workload, "train_step", ["ok", "ok", "oom", "ok"]),
        (phases, "Workload", ["oom", "skipped", "skipped"]),
        (measure, "Workload", ["ok", "ok", "ok", "oom"]),
    ],
)
def test_out_of_memory_leaves_the_other_rows(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, states: list[str]
) -> None:
    monkeypatch.setattr(where, name, full)
    assert [row["status"] for row in measured()] == states
