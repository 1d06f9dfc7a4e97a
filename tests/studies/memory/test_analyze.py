"""What is derived of measured peaks, records and blocks."""

from pathlib import Path
from typing import Any

from workflow_src.model.saved_tensors import attention_tensors, feed_forward_tensors
from workflow_src.studies.memory import analyze
from workflow_src.studies.memory.measure import case_rows, tasks
from workflow_src.studies.models import case_of
from workflow_src.studies.study import Row
from workflow_src.studies.tasks import rows as measured

SIZE = {"d_model": 8, "d_ff": 16, "layers": 1, "heads": 2}
POINT: dict[str, Any] = {
    "point": "p", "measures": "model", "sizes": {"s": SIZE}, "vocabulary": 20, "batch": 4,
    "context": 8, "device": "cpu", "size": "s", "compiled": False,
}  # fmt: skip
CASE = case_of(POINT, "s", "fp32")


def derive(rows: list[Row]) -> list[Row]:
    return analyze.derive(POINT, rows)


def test_what_a_block_saves_is_found_by_hooks_as_derived(tmp_path: Path) -> None:
    """Names go by size and order; the shapes are those that the names say."""
    block = POINT | {"measures": "block", "precisions": ["fp32"], "heads": [2]}
    total, *tensors = derive(measured(tasks, block, tmp_path / "p.json"))[:6]
    assert total["saved_mib"] == total["predicted_mib"]
    assert total["gradients_mib"] == total["gradients_predicted_mib"]
    names = {each.name for each in [*attention_tensors(CASE), *feed_forward_tensors(CASE)]}
    assert {each["name"] for each in tensors} <= names
    shapes = {each["name"]: (each["shape"], each["line"].split(":")[0]) for each in tensors}
    assert shapes["gate before silu"] == ("4 x 8 x 16", "model/transformer.py")
    assert shapes["masked scores"] == ("4 x 2 x 8 x 8", "model/attention.py")


def test_a_case_is_recorded_without_an_allocator(tmp_path: Path) -> None:
    rows = case_rows(CASE, record=True, beside=tmp_path / "p.json")
    made = derive(rows)
    peaks = [row for row in made if row["measurement"] == "peak"]
    assert all(abs(row["predicted_peak_mib"] / row["peak_mib"] - 1) < 0.2 for row in peaks)
    found = next(row for row in made if row["measurement"] == "gradients")
    assert found["least_mib"] == found["most_mib"] == found["predicted_mib"]
    steps = [row for row in made if row["measurement"] == "segment" and row["state_mib"] > 0]
    assert steps[0]["part"] == "optimizer" and steps[0]["step"] == "step 1"
