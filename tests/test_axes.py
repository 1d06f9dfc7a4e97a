"""An axis is declared once: keys of a suite, ids, columns and older tables follow."""

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

from tests.package import copy_package, edit
from workflow_src.common.case import (
    AXES,
    BY_NAME,
    CASE_COLUMNS,
    COUNTS,
    LATER,
    OWN,
    VARIED,
    Brought,
    Case,
    CaseKey,
)
from workflow_src.common.read_table import read_table
from workflow_src.plan.case_ids import OWN_PATTERN, case_id
from workflow_src.plan.suites import make_plan

USUAL = {"context": 64, "precision": "fp32"} | {
    axis.name: axis.usual for axis in AXES if axis.usual is not None
}


def test_each_axis_is_a_field_of_every_kind_of_case() -> None:
    for kind in (CaseKey, Case, Brought):
        assert set(BY_NAME) <= {field.name for field in fields(kind)}
    assert set(VARIED) == set(BY_NAME)
    assert COUNTS == ("context", "batch")


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
    assert re.fullmatch(OWN_PATTERN, expected)


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


ANOTHER = """
from dataclasses import replace
from workflow_src.common.case import Case, NEEDS_CUDA
from workflow_src.common.traffic import ELEMENT_BYTES, cast_moves
from workflow_src.measure.precision import AUTOCAST
from workflow_src.model.memory_formulas import activation_bytes, model_row
from workflow_src.model.step_memory import no_checkpoints, step_peak_bytes

case = Case("a", "tiny", 16, 32, 1, 2, 8, 1, 16, "fp8", "naive", "adamw", "cpu")
half = replace(case, precision="bf16")
for of in (activation_bytes, lambda case: step_peak_bytes(case, no_checkpoints(1))):
    assert 0 < of(case) <= of(half)
assert model_row(case)["parameters"] > 0
assert (ELEMENT_BYTES["fp8"], cast_moves("fp8"), str(AUTOCAST["fp8"])) == (1, 5, "torch.bfloat16")
assert NEEDS_CUDA["precision"] == ("tf32", "fp8")
"""


def test_a_precision_is_declared_in_one_line(tmp_path: Path) -> None:
    """Memory, FLOPs, a cluster's resources, the plan and autocast all take it from there."""
    line = '    "fp8": Precision(1, autocast="bfloat16", capability=(8, 9)),\n}'
    edit(copy_package(tmp_path), "common/precisions.py", "\n}", f"\n{line}")
    subprocess.run([sys.executable, "-c", ANOTHER], cwd=tmp_path, check=True)
