"""The study levers: what it tries, what it measures, and its savings held against predictions."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from tests.studies.chapters import facts, table, texts
from workflow_src.common.case import PHASES
from workflow_src.measure.workload import Workload
from workflow_src.paper.run import typed
from workflow_src.studies.levers import chapter
from workflow_src.studies.levers import measure as measure_stage
from workflow_src.studies.levers.measure import case_at, tasks
from workflow_src.studies.levers.variants import PLAIN, REMEDIES, stack, variants
from workflow_src.studies.points import points
from workflow_src.studies.tasks import main, rows


def test_each_remedy_is_tried_alone_and_on_top_of_the_ones_before_it() -> None:
    names = [variant.name for variant in variants("fp32", "cuda")]
    assert names[: len(REMEDIES) + 1] == [PLAIN, *REMEDIES]
    assert names[len(REMEDIES) + 1 :] == [
        "then_sdpa", "then_fused", "then_graph", "then_compile",
    ]  # fmt: skip
    assert len(set(names)) == len(names)
    last = stack("fp32", "cuda")[-1]
    assert last.remedies == ("bf16", "sdpa", "fused", "graph", "compile")
    assert (last.attention, last.optimizer, last.graph, last.compiled) == ("sdpa", "fused", 1, 1)
    assert stack("bf16", "cuda")[1].remedies == ("sdpa",), "it has bf16 already"


SIZES = {"tiny": {"d_model": 16, "d_ff": 32, "layers": 2, "heads": 2}}
SETTINGS = {"sizes": SIZES, "vocabulary": 50, "levers_cases": ["tiny-ctx8-fp32"]}


def point(name: str, **other: Any) -> dict[str, Any]:
    made = {row["variant"]["name"]: row for row in points("levers", "cpu", "small", SETTINGS)}
    return made[name] | {"device": "cpu", "steps": 2} | other


@pytest.mark.parametrize(
    ("name", "most"),
    [(PLAIN, 0), ("sdpa", 1e-4), ("fused", 1e-6), ("bf16", 0.2), ("then_fused", 0.3)],
)
def test_variants_run_and_their_results_are_near_those_of_the_plain_one(
    name: str, most: float
) -> None:
    found = rows(tasks, point(name))
    assert all(row["status"] == "ok" for row in found)
    phases = [row for row in found if row["measurement"] == "phase"]
    assert [row["phase"] for row in phases] == list(PHASES)
    assert all(row["activities"] for row in phases)
    (error,) = [row for row in found if row["measurement"] == "error"]
    assert 0 <= error["logits_error"] <= most and 0 <= error["gradients_error"] <= most


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


@pytest.mark.parametrize("status", ["ok", "failed"])
def test_a_variant_is_compiled_or_says_why_not(
    status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    if status == "failed":
        refusal = {"status": "failed", "reason": "r"}
        monkeypatch.setattr(measure_stage, "refused", lambda run, device: refusal)
    found = rows(tasks, point("compile"))
    assert [row["status"] for row in found if row["measurement"] == "phase"] == [status] * 3


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


@pytest.mark.usefixtures("served_python")
@pytest.mark.usefixtures("served_python")
def test_a_point_in_two_processes_has_the_samples_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, given = tmp_path / "point.json", point(PLAIN, processes=2)
    command = ["levers", "--point", json.dumps(given), "--output", str(output)]
    monkeypatch.setattr("sys.argv", command)
    main(tasks, "workflow_src.studies.levers.measure")
    found = json.loads(output.read_text())
    assert found["point"] == given and len(found["processes"]) == 2
    timed = {row["phase"]: row["process"] for row in found["rows"] if "samples_ns" in row}
    assert timed == {phase: [0, 0, 1, 1] for phase in PHASES}


def test_bf16_weights_leave_nothing_in_float32_but_buffers() -> None:
    workload = Workload(case_at(point("bf16_weights")), bf16_weights=True)
    workload.train_step()
    parameters = list(workload.model.parameters())
    assert {p.dtype for p in parameters} == {p.grad.dtype for p in parameters} == {torch.bfloat16}  # type: ignore[union-attr]
    assert workload.logits().dtype == torch.bfloat16


STEP = {
    "point": "a", "case": "a", "precision": "bf16", "device": "cuda", "variant": "plain",
    "remedies": "", "batches": 1, "phase": "train_step", "median_ms": 100.0, "device_ms": 40.0,
    "peak_memory_mib": 2048.0, "error_state": "ok", "gradients_error": 0.03,
}  # fmt: skip
SDPA = {"variant": "sdpa", "remedies": "sdpa", "device_ms": 20.0}


def ends(fastest: float, slowest: float) -> dict[str, float]:
    return {"fastest_process_ms": fastest, "slowest_process_ms": slowest}


def predictions(*rows: tuple[str, float, float, float]) -> pd.DataFrame:
    """What was predicted of case a's training step, of a plain time of 200 ms."""
    names = ["remedies", "predicted_ms", "low_ms", "high_ms"]
    about = {"case": "a", "batch": 4, "phase": "train_step", "status": "ok", "plain_ms": 200.0}
    return typed(
        pd.DataFrame([about | dict(zip(names, row, strict=True)) for row in rows]), "remedies"
    )


@pytest.mark.parametrize(
    ("of_plain", "mine", "agrees", "verdict"),
    [
        ({}, {"median_ms": 80.0}, "yes", "as predicted"),
        ({}, {"median_ms": 94.0}, "no", "missed"),
        (ends(95.0, 110.0), {"median_ms": 94.0, **ends(93.0, 99.0)}, "yes", "nothing"),
        ({}, {"median_ms": 80.0, "batches": 2}, "", "nothing"),
        ({}, {"median_ms": 80.0, "gradients_error": None}, "", "nothing"),
    ],
    ids=["inside", "outside", "by its processes", "more work", "broken"],
)
def test_a_saving_is_held_against_what_the_run_predicts(
    of_plain: dict[str, float],
    mine: dict[str, Any],
    agrees: str,
    verdict: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Predicted to take 170 of 200 ms, 150 to 184: to save 15 %, 8 to 25 %."""
    known, held = predictions(("sdpa", 170.0, 150.0, 184.0)), chapter.predicted
    monkeypatch.setattr(chapter, "predicted", lambda table, _: held(table, known))
    said = facts("levers", table(STEP | of_plain, STEP | SDPA | mine))
    told = [texts(said["every"][name])[1] for name in ("as_told", "expected", "low", "high")]
    assert (told, said["verdict"]) == ([agrees, "15 %", "8.0 %", "25 %"], verdict)


def test_an_error_that_is_not_finite_is_infinite() -> None:
    found, exact = torch.tensor([1.0, 2.5]), torch.tensor([1.0, -2.0])
    assert measure_stage.relative_error(found, exact) == 2.25
    assert measure_stage.relative_error(found * math.nan, exact) == math.inf
