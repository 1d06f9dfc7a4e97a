"""What the study accounting measures."""

from typing import Any

import pandas as pd
import pytest
import torch

from tests.studies import ON_GPU
from tests.workflow import ROOT
from workflow_src.common.table_schema import columns
from workflow_src.measure import phases
from workflow_src.measure.workload import Workload
from workflow_src.placing.families import load_rules
from workflow_src.plan.config import load
from workflow_src.studies.accounting import analyze, measure
from workflow_src.studies.join_points import table_rows
from workflow_src.studies.points import points
from workflow_src.studies.tasks import rows

DERIVED = {"median_ms", "flops", "peak_mib", "predicted_peak_mib", "busy_ms", "parameters"}


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


def test_a_quick_measurement_on_the_cpu_has_the_published_columns() -> None:
    raw = measured()
    assert [row["measurement"] for row in raw] == ["phase"] * 3 + ["profile"]
    assert all(DERIVED.isdisjoint(row) for row in raw)
    result = ON_GPU | {"point": small_point(), "rows": raw}
    made = table_rows(result, analyze.derive, load_rules())
    assert [row["measurement"] for row in made] == ["model", *["phase"] * 3]
    assert all(row["status"] == "ok" for row in made) and made[1]["busy_ms"] > 0
    published = pd.read_csv(ROOT / "examples/h200/tables/studies/accounting.csv")
    told = set(published.dropna(axis=1, how="all")) & set(columns("studies/accounting"))
    assert told <= {column for row in made for column in row}


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
