import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.studies.fusion.rows import launches
from tests.studies.tables import filled, joined
from workflow_src.studies.fusion import analyze as fusion
from workflow_src.studies.fusion import implementations
from workflow_src.studies.fusion import measure as fusion_measure
from workflow_src.studies.fusion.points import IMPLEMENTATIONS


@pytest.mark.parametrize("shape", [(1, 10), (5, 2)])
def test_relative_error(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion_measure, "CHUNK", 4)
    x = torch.ones(shape)
    assert fusion_measure.relative_error(1.5 * x, x, lambda x: x) == 0.5
    assert math.isnan(fusion_measure.relative_error(x * math.nan, x, lambda x: x))


def small_point(operation: str, **other: Any) -> dict[str, Any]:
    common = {"dtypes": ["float32"], "wake_s": 0, "warmup_steps": 0, "steps": 2, "device": "cpu"}
    names = IMPLEMENTATIONS[operation]
    about = {"operation": operation, "implementations": names, "shapes": [[4, 64]]}
    return about | common | other


def test_a_quick_measurement_on_the_cpu(tmp_path: Path) -> None:
    rows = fusion_measure.measure(small_point("softmax"))
    about = ["operation", "implementation", "dtype", "rows", "columns", "status", "reason"]
    for found in rows[:3]:
        assert list(found) == [*about, "relative_error", "samples_ns"], "nothing else is measured"
        assert len(found["samples_ns"]) == 2
    assert list(rows[3]) == about
    copied, *rest = filled(joined(tmp_path, fusion.derive, rows))
    assert [r["implementation"] for r in rest] == ["written_out", "torch", "triton"]
    assert copied["bytes_moved"] == 2 * 4 * 256 and copied["share_of_copy"] == 1.0
    for found in rest[:2]:
        assert found["relative_error"] < 1e-6 and found["kernels_launched"] is None
        rate = found["bytes_moved"] / found["median_ms"] / 1e6
        assert found["achieved_gb_per_s"] == pytest.approx(rate)
    assert (rest[2]["status"], rest[2]["reason"]) == ("skipped", "Triton compiles only for GPUs")
    assert rest[2]["median_ms"] is None


def test_what_launches_alike_is_profiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a CUDA device, of which only the profiler and the two clocks are asked here."""
    tensors = "cpu"
    real = torch.randn
    monkeypatch.setattr(torch, "Generator", lambda device: torch.default_generator)
    monkeypatch.setattr(
        torch, "randn", lambda *shape, device, **other: real(*shape, device=tensors, **other)
    )
    monkeypatch.setattr(fusion_measure, "wake", lambda call, device, seconds: None)
    monkeypatch.setattr(fusion_measure, "free", lambda device: None)
    monkeypatch.setattr(fusion_measure, "l2_bytes", lambda device: 0)
    monkeypatch.setattr(fusion_measure, "time_call", lambda *arguments: [1])
    monkeypatch.setattr(fusion_measure, "activities_of", lambda call, device: launches(1))
    point = small_point(
        "softmax", device="cuda", shapes=[[4, 64], [2, 64], [4, 32]], implementations=["torch"]
    )
    rows = fusion_measure.measure(point)
    assert ["activities" in row for row in rows] == [True, False, True]


def test_a_wrong_result_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (0.0, math.nan):
        changed = {"torch": lambda x, wrong=wrong: x * wrong}
        monkeypatch.setitem(
            implementations.PLAIN, "softmax", implementations.PLAIN["softmax"] | changed
        )
        with pytest.raises(RuntimeError, match="torch softmax float32: error"):
            fusion_measure.measure(small_point("softmax"))


def test_out_of_memory_is_a_row_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(x: torch.Tensor) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")

    monkeypatch.setitem(implementations.PLAIN["softmax"], "written_out", full)
    _, gone, torchs, _ = fusion_measure.measure(small_point("softmax"))
    assert (gone["status"], gone["reason"]) == ("oom", "CUDA out of memory")
    assert torchs["status"] == "ok"
