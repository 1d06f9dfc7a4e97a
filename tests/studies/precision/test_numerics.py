import pytest
import torch

from workflow_src.placing.families import load_rules
from workflow_src.studies.join_points import prepared
from workflow_src.studies.precision import analyze as precision
from workflow_src.studies.precision.layer_norm import added_up
from workflow_src.studies.precision.numerics import accumulation, dtypes

SUM = {"device": "cpu", "addend": 0.01, "additions": 1000}


def derived(point, raw) -> list[dict[str, object]]:
    rules = load_rules()
    return precision.derive(point, [prepared(row, rules) for row in raw])


@pytest.fixture(scope="module")
def sums() -> dict[str, dict[str, object]]:
    return {row["variant"]: row for row in derived(SUM, accumulation(SUM))}


def test_each_addition_is_rounded():
    assert added_up(torch.tensor([2048.0, 1.0, 1.0, 1.0])) == 2051
    assert added_up(torch.tensor([2048.0, 1.0, 1.0, 1.0], dtype=torch.float16)) == 2050


@pytest.mark.parametrize(
    ("variant", "value"),
    [
        ("fp32 into fp32", 10.000133514404297),
        ("fp16 into fp16", 9.953125),
        ("fp16 into fp32", 10.00213623046875),
        ("fp16 cast to fp32 into fp32", 10.00213623046875),
    ],
)
def test_sums_of_ieee_arithmetic(sums, variant, value):
    assert sums[variant]["value"] == value


def test_types_are_observed():
    rows = derived(SUM, dtypes("cpu"))
    types = {row["tensor"]: (row["autocast_fp16"], row["autocast_bf16"]) for row in rows}
    assert len(types) == 18
    assert types["fc1.weight (parameter)"] == ("float32", "float32")
    assert types["fc1.weight (gradient)"] == ("float32", "float32")
    assert types["fc1 (output)"] == ("float16", "bfloat16")
    assert types["logits"] == types["fc2 (output)"]
    assert types["loss"] == ("float32", "float32")
