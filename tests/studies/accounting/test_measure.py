"""What the study accounting measures."""

from typing import Any

import pandas as pd
import pytest
import torch

from tests.studies import ON_GPU
from tests.studies.accounting.points import derived, small_point
from tests.workflow import ROOT
from workflow_src.measure import phases
from workflow_src.measure.workload import Workload
from workflow_src.placing.families import load_rules
from workflow_src.plan.config import load
from workflow_src.studies.accounting import analyze as accounting
from workflow_src.studies.accounting import measure as accounting_measure
from workflow_src.studies.accounting.points import points
from workflow_src.studies.join_points import table_rows


def test_points_take_the_sizes_from_the_configuration() -> None:
    config = load(ROOT / "config.yaml")
    (small,) = points("cpu", "small", config)
    full = points("cuda", "full", config)
    assert small["sizes"] == config["sizes"] and small["measured"] == ["tiny"]
    assert [point["precision"] for point in full] == ["fp32", "bf16"]
    assert all(point["context"] == 512 for point in full)
    assert full[0]["measured"] == ["small", "medium", "large", "xl", "2.7B"]
    others = config | {"sizes": {"large": config["sizes"]["large"]}, "vocabulary": 7}
    (other, _) = points("cuda", "full", others)
    assert (list(other["sizes"]), other["measured"]) == (["large"], ["large"])
    assert other["vocabulary"] == 7


DERIVED = {
    "median_ms", "mfu", "hfu", "flops", "bytes", "peak_mib", "predicted_peak_mib", "busy_ms",
    "tflop_per_s", "gb_per_s", "flops_per_byte", "component", "parameters", "recomputed_flops",
}  # fmt: skip


def test_a_quick_measurement_on_the_cpu() -> None:
    raw = accounting_measure.measure(small_point())
    kinds = [row["measurement"] for row in raw]
    assert kinds == ["phase"] * 3 + ["component"] + ["ceiling"] * 8
    assert all(DERIVED.isdisjoint(row) for row in raw[:4])
    assert [row["ceiling"] for row in raw[4:]] == [
        *(f"{name} 1 MiB" for name in ("read", "write", "copy", "scale", "triad")),
        *(f"matmul 16 x 16 x 16 {layout}" for layout in ("nn", "nt", "tn")),
    ]
    assert {key for kind in raw[3]["activities"] for key in kind} == {
        "range", "kind", "operator", "name", "calls", "busy_ns",
    }  # fmt: skip
    assert raw[3]["launched"]["status"] == "ok"
    rows = derived(raw)
    assert {row["work_from"] for row in rows[4:11]} == {"shapes"}
    kinds = [row["measurement"] for row in rows]
    assert kinds == ["model", *["phase"] * 3, *["component"] * 7, *["ceiling"] * 8]
    assert all(row["status"] == "ok" for row in rows)
    for row in rows[1:4]:
        assert row["mfu"] == row["hfu"] > 0 and row["recomputed_flops"] == 0
    for row in rows[4:11]:
        rate = row["flops"] / row["busy_ms"] / 1e9
        assert row["tflop_per_s"] == pytest.approx(rate)
        assert row["flops_per_byte"] == row["flops"] / row["bytes"]


def test_out_of_memory_leaves_the_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")

    monkeypatch.setattr(Workload, "train_step", full)
    rows = derived(accounting_measure.measure(small_point()))
    assert [row["status"] for row in rows[1:4]] == ["ok", "ok", "oom"]
    assert "mfu" not in rows[3] and len(rows) == 19
    monkeypatch.setattr(phases, "Workload", full)
    rows = derived(accounting_measure.measure(small_point()))
    assert [row["status"] for row in rows[1:4]] == ["oom", "skipped", "skipped"]
    assert len(rows) == 12


def test_a_profile_that_runs_out_of_memory_leaves_the_phases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")

    monkeypatch.setattr(accounting_measure, "Workload", full)
    rows = derived(accounting_measure.measure(small_point()))
    assert [row["status"] for row in rows] == ["ok"] * 4 + ["oom"] * 7 + ["ok"] * 8


def test_the_table_of_a_measured_point_has_the_published_columns() -> None:
    point = small_point()
    result = ON_GPU | {"point": point, "rows": accounting_measure.measure(point)}
    rows = table_rows(result, accounting.derive, load_rules())
    found = {column for row in rows for column in row}
    published = ROOT / "examples/h200/tables/studies/accounting.csv"
    assert set(pd.read_csv(published, nrows=0).columns) <= found
