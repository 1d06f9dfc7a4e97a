"""What the study levers measures."""

import math
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from workflow_src.common.case import PHASES
from workflow_src.measure.workload import Workload
from workflow_src.studies.levers import measure as measure_stage
from workflow_src.studies.levers.measure import case_at, tasks
from workflow_src.studies.levers.variants import PLAIN
from workflow_src.studies.points import points
from workflow_src.studies.tasks import rows

SIZES = {"tiny": {"d_model": 16, "d_ff": 32, "layers": 2, "heads": 2}}
SETTINGS = {"sizes": SIZES, "vocabulary": 50, "levers_cases": ["tiny-ctx8-fp32"]}


def point(name: str, **other: Any) -> dict[str, Any]:
    made = {row["variant"]["name"]: row for row in points("levers", "cpu", "small", SETTINGS)}
    return made[name] | {"device": "cpu", "steps": 2} | other


def test_the_plain_point_holds_its_phases_and_no_error() -> None:
    found = rows(tasks, point(PLAIN))
    assert all(row["status"] == "ok" for row in found)
    assert [row["phase"] for row in found if row["measurement"] == "phase"] == list(PHASES)
    (error,) = [row for row in found if row["measurement"] == "error"]
    assert error["logits_error"] == error["gradients_error"] == 0


@pytest.mark.parametrize(
    ("name", "most"), [("sdpa", 1e-4), ("fused", 1e-6), ("bf16", 0.2), ("then_fused", 0.3)]
)
def test_variants_run_and_their_results_are_near(name: str, most: float) -> None:
    found = rows(tasks, point(name))
    assert all(row["status"] == "ok" for row in found)
    (error,) = [row for row in found if row["measurement"] == "error"]
    assert 0 <= error["logits_error"] <= most and 0 <= error["gradients_error"] <= most
    assert all(row["activities"] for row in found if row["measurement"] == "phase")


@pytest.mark.parametrize(
    ("name", "why"),
    [("graph", "CUDA graphs need a CUDA device"), ("triton_softmax", "Triton compiles only")],
)
def test_what_a_cpu_can_not_do_is_a_status(name: str, why: str) -> None:
    found = rows(tasks, point(name))
    assert [row["status"] for row in found] == ["not_supported"] * 3
    assert all(row["reason"].startswith(why) for row in found)


def test_only_the_first_process_compares_and_profiles() -> None:
    found = rows(tasks, point("sdpa", process=1))
    assert [row["measurement"] for row in found] == ["phase"] * 3
    assert not any("activities" in row for row in found)


@pytest.mark.parametrize("process", [0, 1])
def test_the_first_process_compiles_without_what_an_earlier_run_left(
    process: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    found: list[str] = []

    def compiled(*_: Any) -> dict[str, Any]:
        found.extend(
            os.environ.get(name, "") for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
        )
        return {"status": "oom", "reason": "r"}

    monkeypatch.setattr(measure_stage, "first_calls", compiled)
    rows(tasks, point("compile", process=process))
    assert (str(tmp_path) in found) == (process == 1)
    assert not any(Path(path).exists() for path in found if path != str(tmp_path) and path)
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(tmp_path)
    assert "TRITON_CACHE_DIR" not in os.environ


def test_no_phase_s_memory_has_the_gradients_of_what_ran_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left, made, build = list[bool](), list[Workload](), measure_stage.build

    def built(*how: Any) -> Any:
        found = build(*how)
        made.append(found[0])
        return found

    def reset(_: str) -> None:
        left.extend(any(p.grad is not None for p in each.model.parameters()) for each in made)

    monkeypatch.setattr(measure_stage, "build", built)
    monkeypatch.setattr(measure_stage, "reset_peak", reset)
    rows(tasks, point("sdpa"))
    assert left == [False] * 3


def test_a_relative_error_is_of_the_largest_value() -> None:
    found, exact = torch.tensor([1.0, 2.5]), torch.tensor([1.0, -2.0])
    assert measure_stage.relative_error(found, exact) == 2.25
    assert measure_stage.relative_error(torch.tensor([torch.nan, 1]), exact) == math.inf


def test_bf16_weights_leave_nothing_in_float32_but_buffers() -> None:
    workload = Workload(case_at(point("bf16_weights")), bf16_weights=True)
    workload.train_step()
    parameters = list(workload.model.parameters())
    assert {p.dtype for p in parameters} == {p.grad.dtype for p in parameters} == {torch.bfloat16}  # type: ignore[union-attr]
    assert workload.logits().dtype == torch.bfloat16
