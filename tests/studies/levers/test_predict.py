"""Predictions for all variants from the plain point alone."""

import copy
import json
from pathlib import Path

import pandas as pd
import pytest

from tests.studies.levers.points import result
from tests.workflow import ROOT
from workflow_src.placing.families import load_rules
from workflow_src.studies.join_points import join
from workflow_src.studies.levers import analyze
from workflow_src.studies.levers.parts import KINDS
from workflow_src.studies.levers.points import PLAIN, variants
from workflow_src.studies.levers.predict import predictions


def test_predictions_cover_every_variant_and_phase_with_the_work_of_each_kind() -> None:
    found = predictions(result(PLAIN), load_rules())
    expected = [variant.name for variant in variants("fp32", "cpu") if variant.name != PLAIN]
    assert list(dict.fromkeys(found["variant"])) == expected
    assert (found["predicted_low"] <= found["predicted_ms"]).all()
    assert (found["predicted_ms"] <= found["predicted_high"]).all()
    kinds = [f"predicted_{kind}_ms" for kind in (*KINDS, "optimizer")]
    assert found[kinds].sum(axis=1).tolist() == pytest.approx(found["predicted_device_ms"].tolist())


def test_without_a_plain_step_nothing_is_predicted_and_the_file_says_why() -> None:
    given = copy.deepcopy(result(PLAIN))
    row = next(row for row in given["rows"] if row.get("phase") == "train_step")
    row |= {"status": "oom", "reason": "CUDA out of memory"}
    found = predictions(given, load_rules())
    assert found["status"].tolist() == ["skipped"]
    assert "the plain train_step is oom" in found["reason"][0]


def test_a_ceiling_without_a_time_is_why_nothing_is_predicted(tmp_path: Path) -> None:
    given = copy.deepcopy(result(PLAIN))
    row = next(row for row in given["rows"] if row.get("name") == "naive bf16")
    row |= {"status": "oom", "reason": "CUDA out of memory"}
    del row["samples_ns"]
    found = predictions(given, load_rules())
    assert found["status"].tolist() == ["skipped"]
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


@pytest.mark.parametrize("case", ["2.7B-ctx256-bf16", "medium-ctx256-bf16"])
def test_published_predictions_are_what_the_plain_points_still_give(case: str) -> None:
    """They were written when a column still said why in words."""
    folder = ROOT / "examples" / "h200"
    plain = json.loads((folder / "studies" / "levers" / f"{case}.plain.json").read_text())
    published = pd.read_csv(folder / "predictions" / "levers" / f"{case}.csv")
    numbers = [column for column in published if column.startswith("predicted_")]
    found = predictions(plain, load_rules())
    pd.testing.assert_frame_equal(found[numbers], published[numbers])
