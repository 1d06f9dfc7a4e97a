import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.studies.tables import filled, joined
from workflow_src.studies import tasks as engine
from workflow_src.studies.fusion import measure as fusion_measure
from workflow_src.studies.points import points

FEW: dict[str, Any] = {"totals": [256], "wake_s": 0, "warmup_steps": 0, "steps": 2}
FEW |= {"device": "cpu"}


def measured(**other: Any) -> list[dict[str, Any]]:
    _, softmax = points("fusion", "cpu", "small", {})
    return engine.rows(fusion_measure.tasks, softmax | FEW | {"columns": [64]} | other)


@pytest.mark.parametrize("shape", [(1, 10), (5, 2)])
def test_relative_error(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion_measure, "CHUNK", 4)
    x = torch.ones(shape)
    assert fusion_measure.relative_error(1.5 * x, x, lambda x: x) == 0.5
    assert math.isnan(fusion_measure.relative_error(x * math.nan, x, lambda x: x))


def test_a_quick_measurement_on_the_cpu(tmp_path: Path) -> None:
    rows = measured()
    about = {"operation", "implementation", "dtype", "rows", "columns", "device"}
    about |= {"status", "reason"}
    for found in rows[:3]:
        assert set(found) == about | {"relative_error", "samples_ns"}, "nothing else is measured"
        assert len(found["samples_ns"]) == 2
    assert set(rows[3]) == about
    copied, *rest = filled(joined(tmp_path, "fusion", rows))
    assert [r["implementation"] for r in rest] == ["written_out", "torch", "triton"]
    assert copied["bytes_moved"] == 2 * 4 * 256 and copied["share_of_copy"] == 1.0
    for found in rest[:2]:
        assert found["relative_error"] < 1e-6 and found["kernels_launched"] is None
    assert (rest[2]["status"], rest[2]["reason"]) == ("skipped", "Triton compiles only for GPUs")


def test_a_wrong_result_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (0.0, math.nan):
        changed = {"torch": lambda x, wrong=wrong: x * wrong}
        monkeypatch.setitem(
            fusion_measure.PLAIN, "softmax", fusion_measure.PLAIN["softmax"] | changed
        )
        with pytest.raises(RuntimeError, match="torch softmax float32: error"):
            measured()
