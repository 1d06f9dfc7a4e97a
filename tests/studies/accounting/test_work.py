"""The FLOPs and bytes of components: as recorded, or by formula."""

from dataclasses import replace
from functools import cache
from typing import Any

from tests.studies.accounting.points import CASE
from workflow_src.studies.accounting.measure import forward
from workflow_src.studies.accounting.work import component_work


@cache
def launched_by(precision: str = "fp32") -> dict[str, Any]:
    """What launched the work of a forward pass of CASE with two layers, as a point keeps it."""
    case = replace(CASE, layers=2, precision=precision)
    found: dict[str, Any] = forward(case, 1)["launched"]
    return found


def work_of(launched: dict[str, Any] | None, precision: str = "fp32") -> dict[str, Any]:
    case = replace(CASE, layers=2, precision=precision)
    return {row["component"]: row for row in component_work(case, launched)}


def test_the_bytes_of_components_are_those_that_were_recorded() -> None:
    """What the formula leaves out: copies in another layout, and casts by autocast."""
    formula, found = work_of(None), work_of(launched_by())
    assert {row["work_from"] for row in found.values()} == {"shapes"}
    assert all("work_from" not in row for row in formula.values())
    for name, row in found.items():
        assert row["flops"] == formula[name]["flops"], name
    for name in ("qkv", "feed_forward", "head"):
        assert found[name]["bytes"] == formula[name]["bytes"]
    # Heads are merged by a copy of 32 x 8 elements in each of two layers.
    assert found["output"]["bytes"] - formula["output"]["bytes"] == 2 * 4 * 2 * 32 * 8
    formula, found = work_of(None, "bf16"), work_of(launched_by("bf16"), "bf16")
    # Weight and input are read in float32 and written in bf16.
    casts = 2 * (4 + 2) * (32 * 8 + 8 * 24)
    assert found["qkv"]["bytes"] - formula["qkv"]["bytes"] == casts


def test_a_component_whose_range_was_lost_in_a_layer_is_by_formula() -> None:
    whole = launched_by()
    (first, *_) = (n for n, each in enumerate(whole["operators"]) if each["range"].endswith("qkv"))
    place = next(at for at, (n, _) in enumerate(whole["sequence"]) if n == first)
    outside = whole["operators"][first] | {"range": "block/attention"}
    sequence = [list(each) for each in whole["sequence"]]
    sequence[place][0] = len(whole["operators"])
    lost = whole | {"operators": [*whole["operators"], outside], "sequence": sequence}
    found = work_of(lost)
    assert found["qkv"] == work_of(None)["qkv"] | {"work_from": "formula"}
    assert found["output"]["work_from"] == "shapes"
