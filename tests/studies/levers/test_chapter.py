"""What the study levers finds in small tables by hand."""

from typing import Any

import pandas as pd
import pytest

from tests.studies.chapters import facts, texts
from tests.studies.levers.rows import STEP, ends, tried
from tests.studies.tables import table
from workflow_src.paper.run import typed
from workflow_src.studies.levers import chapter
from workflow_src.studies.levers.chapter import key_of

BROKEN = {"gradients_error": None}


def found(*rows: dict[str, Any]) -> dict[str, Any]:
    return facts("levers", table(*rows))


def predictions(*rows: tuple[str, float, float, float]) -> pd.DataFrame:
    """What was predicted of case a's training step, of a plain time of 200 ms."""
    names = ["remedies", "predicted_ms", "low_ms", "high_ms"]
    about = {"case": "a", "batch": 4, "phase": "train_step", "status": "ok", "plain_ms": 200.0}
    return typed(
        pd.DataFrame([about | dict(zip(names, row, strict=True)) for row in rows]), "remedies"
    )


@pytest.mark.parametrize(
    ("of_plain", "mine", "agrees"),
    [
        ({}, {"ms": 80.0}, "yes"),
        ({}, {"ms": 94.0}, "no"),
        (ends(95.0, 110.0), {"ms": 94.0, **ends(93.0, 99.0)}, "yes"),
        ({}, {"ms": 80.0, "batches": 2}, ""),
        ({}, {"ms": 80.0, **BROKEN}, ""),
    ],
    ids=["inside", "outside", "by its processes", "more work", "broken"],
)
def test_a_saving_is_held_against_what_the_run_predicts(
    of_plain: dict[str, float], mine: dict[str, Any], agrees: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Predicted to take 170 of 200 ms, 150 to 184: to save 15 %, 8 to 25 %."""
    known, held = predictions(("sdpa", 170.0, 150.0, 184.0)), chapter.predicted
    monkeypatch.setattr(chapter, "predicted", lambda table, _: held(table, known))
    said = found(STEP | of_plain, tried("sdpa", **mine))
    assert texts(said["every"]["as_told"])[1] == agrees
    assert [texts(said["every"][name])[1] for name in ("expected", "low", "high")] == [
        "15 %", "8.0 %", "25 %",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "phase", "key"),
    [
        (["sdpa", "fused", "graph", "compile"], "train_step", "sdpa+fused+compile+graph"),
        (["graph"], "forward", "graph"),
        (["graph"], "train_step", ""),
        (["fused"], "forward", ""),
        (["bf16_weights"], "train_step", ""),
    ],
    ids=["another order", "of a pass", "ends with backward", "no optimizer runs", "unknown"],
)
def test_only_what_was_tried_is_what_was_predicted(names: list[str], phase: str, key: str) -> None:
    assert key_of(names, phase) == key


@pytest.mark.parametrize(("ms", "verdict"), [(80.0, "as predicted"), (50.0, "missed")])
def test_a_verdict_tells_whether_predictions_were_borne_out(
    ms: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, held = predictions(("sdpa", 170.0, 150.0, 184.0)), chapter.predicted
    monkeypatch.setattr(chapter, "predicted", lambda table, _: held(table, known))
    assert found(STEP, tried("sdpa", ms))["verdict"] == verdict
