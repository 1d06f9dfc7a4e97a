"""The cause of first steps on a CUDA device: run with `python -m pytest -m gpu`."""

from pathlib import Path

import pytest

from workflow_src.common.devices import cuda_devices
from workflow_src.plan.config import load
from workflow_src.studies.points import points
from workflow_src.studies.tasks import rows
from workflow_src.studies.warmup import analyze
from workflow_src.studies.warmup.measure import tasks

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda_devices(), reason="needs a CUDA device"),
]

SETTINGS = load(Path(__file__).parent.parent / "config.yaml")


def test_every_trial_runs() -> None:
    *_, point = points("warmup", "cuda", "small", SETTINGS)
    point |= {"device": "cuda", "steps": 4, "repeats": 1}
    found = rows(tasks, point)
    assert [(row["status"], row["reason"]) for row in found] == [("ok", "")] * (3 * 2)
    assert {row["status"] for row in analyze.derive(point, found)} == {"ok"}
