"""An axis is declared once: keys of a suite, ids, columns and older tables follow."""

import re
from pathlib import Path

import pandas as pd
import pytest

from workflow_src.common.case import (
    AXES,
    CASE_COLUMNS,
    COUNTS,
    LATER,
    OWN,
)
from workflow_src.common.read_table import read_table
from workflow_src.plan.case_ids import CASE_PATTERN, case_id
from workflow_src.plan.suites import make_plan

USUAL = {"context": 64, "precision": "fp32"} | {
    axis.name: axis.usual for axis in AXES if axis.usual is not None
}


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({}, "small-ctx64-fp32"),
        ({"batch": 8, "optimizer": "fused"}, "small-ctx64-fp32-b8-fused"),
        ({"attention": "sdpa", "execution": "compiled"}, "small-ctx64-fp32-sdpa-compiled"),
    ],
)
def test_an_id_has_what_is_unusual(other: dict[str, object], expected: str) -> None:
    assert case_id("small", USUAL | other) == expected
    assert re.fullmatch(CASE_PATTERN, expected)


def test_a_suite_and_a_brought_model_take_the_axis(tmp_path: Path) -> None:
    size = {"d_model": 8, "d_ff": 8, "layers": 1, "heads": 2}
    suite = {"sizes": ["s"], "contexts": [16], "executions": ["eager", "compiled"]}
    raw = {"suite": "c", "sizes": {"s": size}, "suites": {"c": suite}, "device": "cpu"}
    ids = ["s-ctx16-fp32", "s-ctx16-fp32-compiled"]
    assert make_plan(raw, tmp_path).case_ids == ids
    axes = {"execution": ["eager", "compiled"]}
    made = make_plan(raw | {"workload": "examples/my_model.py:make", "axes": axes}, tmp_path)
    assert made.case_ids == [f"my_model-execution={each}-fp32" for each in axes["execution"]]
    assert [case.execution for case in made.cases] == axes["execution"]
    assert {case.attention for case in made.cases} == {OWN}


def test_tables_of_older_runs_have_the_value_that_all_their_cases_had(tmp_path: Path) -> None:
    older = {name: 1 if name in COUNTS else "x" for name in CASE_COLUMNS if name not in LATER}
    row = older | {"precision": "fp32", "phase": "forward", "path": "forward", "step": 0}
    row |= dict.fromkeys(("instances", "host_ms", "busy_ms", "span_ms"), 1)
    pd.DataFrame([row]).to_csv(tmp_path / "ranges.csv", index=False)
    found = read_table(tmp_path / "ranges.csv", "ranges")
    assert found["execution"].tolist() == ["eager"]
