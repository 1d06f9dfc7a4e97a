"""What rounding does to sums and norms, as it is measured and derived."""

import pytest

from workflow_src.studies.join_points import prepared
from workflow_src.studies.points import points
from workflow_src.studies.precision import chapter
from workflow_src.studies.precision.measure import rounding
from workflow_src.studies.tasks import rows


@pytest.fixture(scope="module")
def found() -> list[dict[str, object]]:
    point = points("precision", "cpu", "small", {"sizes": {}, "vocabulary": 9})[0]
    point |= {"device": "cpu"}
    return chapter.derive(point, [prepared(row) for row in rows(rounding, point)])


@pytest.fixture(scope="module")
def sums(found):
    return {row["variant"]: row for row in found if row["part"] == "accumulation"}


def test_sums_of_ieee_arithmetic(sums):
    assert {name: row["value"] for name, row in sums.items()} == {
        "fp32 into fp32": 10.000133514404297,
        "fp16 into fp16": 9.953125,
        "fp16 into fp32": 10.00213623046875,
        "fp16 cast to fp32 into fp32": 10.00213623046875,
    }


def test_the_two_parts_make_up_the_error(sums):
    for row in sums.values():
        assert row["representation_error"] + row["rounding_error"] == row["error"]
    assert sums["fp16 into fp16"]["representation_error"] == 0.00213623046875
    assert sums["fp16 into fp32"]["rounding_error"] == 0
    assert sums["fp16 into fp16"]["spacing"] == 2**-7
    assert sums["fp32 into fp32"]["spacing"] == 2**-20


def test_types_are_observed(found):
    observed = [row for row in found if row["part"] == "dtypes"]
    types = {row["tensor"]: (row["autocast_fp16"], row["autocast_bf16"]) for row in observed}
    assert len(types) == 18
    assert types["fc1.weight (parameter)"] == ("float32", "float32")
    assert types["fc1.weight (gradient)"] == ("float32", "float32")
    assert types["fc1 (output)"] == ("float16", "bfloat16")
    assert types["logits"] == types["fc2 (output)"]
    assert types["loss"] == ("float32", "float32")


def test_narrow_statistics_round_and_fp16_overflows(found):
    norms = [row for row in found if row["part"] == "layer_norm"]
    narrow = [row for row in norms if row["statistics"] != "fp32"]
    assert (len(norms), len(narrow)) == (8, 4)
    assert all(row["largest_error"] < 1e-5 for row in norms if row["statistics"] == "fp32")
    (over,) = (row for row in norms if row["variance"] == "overflows")
    assert (over["variant"], over["statistics"], over["deviation"]) == ("fp16", "fp16", 300.0)
    fine = [row for row in narrow if row is not over]
    assert all(0.2 < row["largest_error"] / row["stored_error"] < 5 for row in fine)
