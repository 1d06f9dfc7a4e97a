"""What the study accounting measures."""

from typing import Any

import pandas as pd
import pytest
import torch

from tests.studies import ON_GPU
from tests.studies.accounting.points import derived, small_point
from tests.workflow import ROOT
from workflow_src.common.table_schema import columns
from workflow_src.measure import phases
from workflow_src.measure.workload import Workload
from workflow_src.placing.families import load_rules
from workflow_src.studies.accounting import analyze as accounting
from workflow_src.studies.accounting import measure
from workflow_src.studies.accounting.measure import tasks
from workflow_src.studies.join_points import table_rows
from workflow_src.studies.tasks import rows

DERIVED = {
    "median_ms", "flops", "bytes", "peak_mib", "predicted_peak_mib", "busy_ms",
    "flops_per_byte", "component", "parameters",
}  # fmt: skip


def measured() -> list[dict[str, Any]]:
    return rows(tasks, small_point())


def full(*_: Any) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")


def test_a_quick_measurement_on_the_cpu() -> None:
    raw = measured()
    assert [row["measurement"] for row in raw] == ["phase"] * 3 + ["component"]
    assert all(DERIVED.isdisjoint(row) for row in raw)
    assert {key for kind in raw[3]["activities"] for key in kind} == {
        "range", "name", "calls", "busy_ns",
    }  # fmt: skip
    made = derived(raw)
    kinds = [row["measurement"] for row in made]
    assert kinds == ["model", *["phase"] * 3, *["component"] * 7]
    assert all(row["status"] == "ok" for row in made)
    for row in made[4:]:
        assert row["flops_per_byte"] == row["flops"] / row["bytes"]


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


def test_the_table_of_a_measured_point_has_the_published_columns() -> None:
    """But those of ceilings, which were the study's own once."""
    result = ON_GPU | {"point": small_point(), "rows": measured()}
    made = table_rows(result, accounting.derive, load_rules())
    published = pd.read_csv(ROOT / "examples/h200/tables/studies/accounting.csv")
    kept = published[published["measurement"] != "ceiling"].dropna(axis=1, how="all")
    told = set(kept) & set(columns("studies/accounting"))
    assert told <= {column for row in made for column in row}
