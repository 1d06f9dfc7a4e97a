"""The cause of first steps on a CUDA device: run with `python -m pytest -m gpu`."""

import json
import shutil
from pathlib import Path

import pytest

from workflow_src.common.devices import cuda_devices
from workflow_src.plan.config import load
from workflow_src.studies.warmup import analyze
from workflow_src.studies.warmup.host_time import CATEGORIES, split
from workflow_src.studies.warmup.measure import measure
from workflow_src.studies.warmup.points import points

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda_devices(), reason="needs a CUDA device"),
    pytest.mark.skipif(not shutil.which("nsys"), reason="needs nsys"),
]

SETTINGS = load(Path(__file__).parent.parent / "config.yaml")


def test_the_host_time_of_first_steps_adds_up_and_every_trial_runs() -> None:
    *_, point = points("cuda", "small", SETTINGS)
    point |= {"device": "cuda", "steps": 4, "repeats": 1}
    rows = measure(point)
    assert [(row["status"], row["reason"]) for row in rows] == [("ok", "")] * (1 + 3 * 2)
    traced = split(rows[0])
    assert [(row["phase"], row["step"]) for row in traced] == [
        (phase, step) for phase in ("forward", "forward_backward") for step in range(4)
    ]
    for row in traced:
        assert set(row["ns"]) == set(CATEGORIES)
        assert sum(row["ns"].values()) == row["wall_ns"] > 0
        assert row["ns"]["outside"] > 0
        assert row["calls"]["launch"] + row["calls"]["first_launch"] > 10
        assert row["calls"]["synchronize"] >= 1
    first, *later = [row for row in traced if row["phase"] == "forward"]
    assert first["kernels"] >= first["calls"]["first_launch"] > 3
    assert later[-1]["kernels"] == 0
    assert len(json.dumps(rows)) < 1_000_000
    assert {row["status"] for row in analyze.derive(point, rows)} == {"ok"}
