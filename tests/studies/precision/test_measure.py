from typing import Any

import pandas as pd

from tests.studies import ON_GPU
from tests.workflow import ROOT
from workflow_src.common.table_schema import columns
from workflow_src.placing.families import load_rules
from workflow_src.plan.config import load
from workflow_src.studies.join_points import table_rows
from workflow_src.studies.points import points
from workflow_src.studies.precision import analyze as precision
from workflow_src.studies.precision import measure
from workflow_src.studies.tasks import rows

SETTINGS = load(ROOT / "config.yaml")


def measured(**other: object) -> list[dict[str, Any]]:
    point = points("precision", "cpu", "small", SETTINGS)[1]
    few = {"device": "cpu", "context": 16, "steps": dict.fromkeys(measure.MEASUREMENTS, 2)}
    return rows(measure.tasks, point | few | other)


def test_small_points_are_measured_whole():
    numerics = points("precision", "cpu", "small", SETTINGS)[0] | {"device": "cpu"}
    raw = {"numerics": rows(measure.tasks, numerics), "tiny": measured()}
    made = []
    for name, found in raw.items():
        result = ON_GPU | {"point": numerics | {"point": name}, "rows": found}
        made += table_rows(result, precision.derive, load_rules())
    table = pd.DataFrame(made)
    assert set(table["status"]) == {"ok"}
    assert set(table["part"]) == {"accumulation", "dtypes", "layer_norm", "speed"}
    published = ROOT / "examples/h200/tables/studies/precision.csv"
    told = {*pd.read_csv(published, nrows=0)} & {*columns("studies/precision")}
    assert told <= set(table.columns)
    speed = table[table["part"] == "speed"].set_index(["precision", "measurement"])
    assert (speed["busy_ms"] > 0).all()
    assert set(speed["d_model"]) == {SETTINGS["sizes"]["tiny"]["d_model"]}


def test_only_the_named_precisions_are_profiled():
    found = measured(profiled=["bf16"])
    assert {row["precision"] for row in found if "activities" in row} == {"bf16"}
    assert {row["precision"] for row in found if "samples_ns" in row} == {"fp32", "bf16"}
