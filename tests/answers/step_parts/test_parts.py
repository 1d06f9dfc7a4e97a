"""The parts of a training step in plain time, by hand."""

from pathlib import Path

import pandas as pd
import pytest

from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.step_parts.parts import (
    CASTS,
    ELSE,
    IDLE,
    MULTIPLYING,
    OPTIMIZER,
    SOFTMAX,
    StepParts,
    step_parts,
)
from workflow_src.answers.tables import Tables

NAMES = ("timings", "ranges", "kernels", "captures")


def parts(folder: Path, sample: Sample, *operators: tuple[str, str, str, float]) -> StepParts:
    """The parts of a case; operators: path, family, kernel, ms of each."""
    write_tables(folder, sample)
    if operators:
        columns = ["path", "family", "short_name", "busy_ms_per_step"]
        rows = pd.DataFrame(operators, columns=columns).assign(**sample.front, phase="train_step")
        filled = {"operator": "x", "shapes": "", "dtypes": ""}
        numbers = {"calls_per_step": 1, "bytes_per_step": 0}
        rows.assign(**filled, **numbers).to_csv(folder / "operators.csv", index=False)
    tables = Tables.read(folder, NAMES, ("operators",))
    return step_parts(tables, tables.cases[0])


def test_without_operators_softmax_is_part_of_everything_else(tmp_path: Path) -> None:
    """Products 10, AdamW 9 and 1 ms outside both are the device's 20 of 50 ms."""
    found = parts(tmp_path, Sample())
    assert found.parts == pytest.approx({MULTIPLYING: 10, OPTIMIZER: 9, ELSE: 1, IDLE: 30})


def test_operators_tell_softmax_of_backward_and_casts(tmp_path: Path) -> None:
    """In softmax's range all but products is softmax's; what no operator explains is the rest."""
    softmax = "train_step/forward/block/attention/softmax"
    found = parts(
        tmp_path,
        Sample(precision="bf16"),
        (softmax, "elementwise", "exp_kernel", 2.0),
        (softmax, "copy", "unrolled_elementwise(direct_copy)", 1.0),
        ("train_step/forward/block", "copy", "vectorized_elementwise(bfloat16_copy)", 4.0),
        ("train_step/forward/block", "gemm", "gemm", 5.0),
        ("train_step/optimizer", "elementwise", "mul", 6.0),
    )
    expected = {MULTIPLYING: 5, SOFTMAX: 3, CASTS: 4, OPTIMIZER: 6, ELSE: 2, IDLE: 30}
    assert found.parts == pytest.approx(expected)


def test_a_step_that_did_not_run_has_no_parts(tmp_path: Path) -> None:
    found = parts(tmp_path, Sample(status={"train_step": ("oom", "")}))
    assert (found.state, found.parts) == ("oom", {})
