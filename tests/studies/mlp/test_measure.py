"""What the study mlp measures."""

import pandas as pd
import pytest
import torch

from workflow_src.placing.families import load_rules
from workflow_src.studies.join_points import table_rows
from workflow_src.studies.mlp import analyze as mlp
from workflow_src.studies.mlp.measure import tasks, training
from workflow_src.studies.points import points
from workflow_src.studies.tasks import rows

BASE = {"steps": 2, "layers": 4, "batch": 256, "dim": 256}


def small_point() -> dict[str, object]:
    (point,) = points("mlp", "cpu", "small", {})
    return point | {"device": "cpu", "dims": [16, 32], "steps": 2, "factors": [2]}


def test_a_small_point_is_measured_whole():
    point = small_point()
    found = rows(tasks, point)
    keys = {key for row in found for key in row}
    about = {"part", "device", "axis", "factor", "status", "reason", *BASE}
    assert keys == about | {"samples_ns", "activities"}, "nothing derived"
    around = {"point": point, "rows": found, "environment": {}}
    table = pd.DataFrame(table_rows(around, mlp.derive, load_rules()))
    assert set(table["status"]) == {"ok"}
    assert table["part"].value_counts()[["scaling", "sweep"]].tolist() == [5, 2]
    scaled = table[table["part"] == "scaling"].set_index("axis")[list(BASE)]
    assert scaled.loc["base"].to_dict() == BASE
    assert scaled.loc["dim"].to_dict() == BASE | {"dim": 512}


def test_training_changes_the_weights_as_often_as_it_says():
    counted = []
    real = torch.optim.SGD.step

    def step(self, *arguments):
        counted.append(1)
        return real(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.SGD, "step", step)
        training("cpu", {"steps": 3, "layers": 1, "batch": 2, "dim": 4})()
    assert len(counted) == 3
