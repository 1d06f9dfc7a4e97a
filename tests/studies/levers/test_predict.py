"""Predictions for all variants from the plain point alone."""

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.studies.levers.points import result
from tests.workflow import ROOT
from workflow_src.placing.families import load_rules
from workflow_src.studies.join_points import join
from workflow_src.studies.levers import analyze
from workflow_src.studies.levers.points import PLAIN, variants
from workflow_src.studies.levers.predict import UNPREDICTED, predictions

PUBLISHED = ROOT / "examples" / "h200" / "studies" / "levers" / "medium-ctx256-bf16.plain.json"


def plain() -> dict[str, Any]:
    """A plain point as an H200 measured it."""
    return json.loads(PUBLISHED.read_text())


@cache
def predicted() -> pd.DataFrame:
    return predictions(plain(), load_rules())


def times(variant: str, phase: str) -> pd.Series:
    found = predicted()
    return found[(found["variant"] == variant) & (found["phase"] == phase)].iloc[0]


def test_predictions_cover_every_variant_and_phase_or_say_why_not() -> None:
    found = predicted()
    tried = [variant.name for variant in variants("bf16", "cuda") if variant.name != PLAIN]
    assert list(dict.fromkeys(found["variant"])) == tried
    known, unknown = (found[found["status"] == each] for each in ("ok", "skipped"))
    assert (known["predicted_low"] <= known["predicted_ms"]).all()
    assert (known["predicted_ms"] <= known["predicted_high"]).all()
    assert len(known) == 3 * len(set(known["variant"]))
    assert dict(zip(unknown["variant"], unknown["reason"], strict=True)) == {
        name: why for name, why in UNPREDICTED.items() if name in tried
    }


def test_a_remedy_of_the_optimizer_leaves_the_forward_pass_and_its_device_work() -> None:
    (row,) = [row for row in plain()["rows"] if row.get("phase") == "forward"][:1]
    recorded_ms = sum(each["busy_ns"] for each in row["activities"]) / 1e6
    assert times("fused", "forward")["predicted_device_ms"] == pytest.approx(recorded_ms, rel=1e-3)
    # AdamW's 354 million parameters: 28 bytes of 88, of 8.7 ms.
    left = [times(each, "train_step")["predicted_device_ms"] for each in ("foreach", "fused")]
    assert left[0] - left[1] == pytest.approx(5.2, abs=0.3)


def test_a_graph_leaves_one_launch_and_those_of_adamw_written_out() -> None:
    assert times("graph", "forward")["predicted_launches"] == 1
    assert times("graph", "train_step")["predicted_launches"] > 1000
    assert times("then_graph", "train_step")["predicted_launches"] == 1


def skipped(given: dict[str, Any]) -> str:
    found = predictions(given, load_rules())
    assert found["status"].tolist() == ["skipped"]
    return str(found["reason"][0])


def test_without_a_plain_step_nothing_is_predicted_and_the_file_says_why() -> None:
    given = plain()
    row = next(row for row in given["rows"] if row.get("phase") == "train_step")
    row |= {"status": "oom", "reason": "CUDA out of memory"}
    assert "the plain train_step is oom" in skipped(given)


def test_nothing_is_predicted_on_a_cpu() -> None:
    assert skipped(result(PLAIN)) == "a CPU has no launches to replay"


def test_a_ceiling_without_a_time_is_why_nothing_is_predicted(tmp_path: Path) -> None:
    given = copy.deepcopy(result(PLAIN))
    row = next(row for row in given["rows"] if row.get("name") == "naive bf16")
    row |= {"status": "oom", "reason": "CUDA out of memory"}
    del row["samples_ns"]
    found = predictions(given, load_rules())
    why = "the ceiling naive bf16 forward is oom: CUDA out of memory"
    assert found["reason"].tolist() == [why]
    found.to_csv(tmp_path / "p.csv", index=False)
    (tmp_path / "plain.json").write_text(json.dumps(given))
    points = join([tmp_path / "plain.json"], analyze.derive, load_rules())
    table = analyze.complete(points, [tmp_path / "p.csv"])
    assert table["unpredicted"].tolist() == [why] * 3


def test_predictions_read_the_plain_point_and_nothing_else() -> None:
    rules = (ROOT / "rules" / "levers.smk").read_text()
    given = rules[rules.index("input:") : rules.index("output:")].split()
    assert given[1:] == [
        'plain="results/{tag}/studies/levers/{case}.plain.json",',
        'families="workflow_src/placing/families.csv",',
    ]
