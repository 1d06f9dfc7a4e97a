"""What the study mlp measures."""

import pandas as pd

from workflow_src.placing.families import load_rules
from workflow_src.studies.join_points import table_rows
from workflow_src.studies.mlp import analyze as mlp
from workflow_src.studies.mlp.measure import tasks
from workflow_src.studies.points import points
from workflow_src.studies.tasks import rows


def test_a_small_point_is_measured_whole() -> None:
    (point,) = points("mlp", "cpu", "small", {})
    point |= {"device": "cpu", "dims": [16, 32], "steps": 2}
    found = rows(tasks, point)
    keys = {key for row in found for key in row}
    about = {"part", "device", "status", "reason", "layers", "batch", "dim"}
    assert keys == about | {"samples_ns", "activities"}, "nothing derived"
    around = {"point": point, "rows": found, "environment": {}}
    table = pd.DataFrame(table_rows(around, mlp.derive, load_rules()))
    assert set(table["status"]) == {"ok"} and (table["busy_ms"] > 0).all()
    assert table["dim"].tolist() == [16, 32]
