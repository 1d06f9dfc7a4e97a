import pandas as pd
import torch

from tests.studies import ON_GPU
from tests.workflow import ROOT
from workflow_src.measure import phases
from workflow_src.placing.families import load_rules
from workflow_src.plan.config import load
from workflow_src.studies.join_points import table_rows
from workflow_src.studies.precision import analyze as precision
from workflow_src.studies.precision.measure import measure
from workflow_src.studies.precision.points import points

SETTINGS = load(ROOT / "config.yaml")


def small_point() -> dict[str, object]:
    (point,) = points("cpu", "small", SETTINGS)
    steps = dict.fromkeys(point["steps"], 2)
    return point | {"device": "cpu", "context": 16, "steps": steps}


DERIVED = {
    "error", "representation_error", "rounding_error", "spacing", "median_ms", "busy_ms",
    "busy_share", "copies", "copy_ms", "copy_share", "speedup", "verdict",
}  # fmt: skip


def test_a_small_point_is_measured_whole():
    point = small_point()
    raw = measure(point)
    assert all(DERIVED.isdisjoint(row) for row in raw)
    kinds = {key for row in raw for kind in row.get("activities", []) for key in kind}
    assert kinds == {"range", "kind", "operator", "name", "calls", "busy_ns"}
    result = ON_GPU | {"point": point, "rows": raw}
    table = pd.DataFrame(table_rows(result, precision.derive, load_rules()))
    assert set(table["status"]) == {"ok"}
    assert set(table["part"]) == {"accumulation", "dtypes", "layer_norm", "speed"}
    published = ROOT / "examples/h200/tables/studies/precision.csv"
    assert set(pd.read_csv(published, nrows=0).columns) <= set(table.columns)
    speed = table[table["part"] == "speed"].set_index(["precision", "measurement"])
    more = speed.loc["bf16", "copies"] - speed.loc["fp32", "copies"]
    assert more["forward"] > 0 == more["scores"]
    assert set(speed["d_model"]) == {SETTINGS["sizes"]["tiny"]["d_model"]}


def test_only_the_named_precisions_are_profiled():
    point = small_point() | {"numerics": False, "profiled": ["bf16"]}
    rows = measure(point)
    assert {row["precision"] for row in rows if "activities" in row} == {"bf16"}
    assert {row["precision"] for row in rows if "samples_ns" in row} == {"fp32", "bf16"}


def test_a_model_that_does_not_fit_leaves_the_scores(monkeypatch):
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")

    monkeypatch.setattr(phases, "Workload", full)
    rows = measure(small_point() | {"numerics": False, "precisions": ["fp32"]})
    found = [(row["measurement"], row["status"]) for row in rows]
    assert found == [("forward", "oom"), ("forward_backward", "skipped"), ("scores", "ok")]
    assert rows[0]["reason"] == "CUDA out of memory"
