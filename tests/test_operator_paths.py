"""What launched an activity is placed by the capture's ranges, which the record may have lost."""

from dataclasses import replace
from functools import cache
from typing import Any

import pandas as pd
import pytest

from tests.test_operators import CASE, operator
from workflow_src.measure import operators
from workflow_src.measure.workload import Workload
from workflow_src.placing.case_capture import with_places
from workflow_src.tables.operators import operator_tables

# No two of its dimensions coincide.
PLAIN = replace(CASE, context=6, batch=3, vocabulary=50)
KEYS = ["family", "operator", "forward_operator", "shapes", "dtypes"]


@cache
def record() -> Any:
    """What launched the work of a training step on this CPU."""
    workload = Workload(PLAIN)
    workload.train_step()
    return operators.launched(workload.train_step, "cpu")


def lost(launched: Any, name: str) -> Any:
    """The record with every second operator outside of the ranges of this name."""
    cut = [
        each | {"range": each["range"].replace(f"/{name}", "")} for each in launched["operators"]
    ]
    sequence = [
        [number + len(cut) * (place % 2), said]
        for place, (number, said) in enumerate(launched["sequence"])
    ]
    return launched | {"operators": [*launched["operators"], *cut], "sequence": sequence}


def captured(launched: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A capture of the recorded training step in which each activity ran in its recorded range.

    A gradient ran in backward.
    """
    operators = [launched["operators"][number] for number, _ in launched["sequence"]]
    paths = ["backward" if each["forward_operator"] else each["range"] for each in operators]
    ranges = pd.DataFrame({"path": [f"train_step/{path}".rstrip("/") for path in paths]})
    names = [launched["names"][name] for _, name in launched["sequence"]]
    activities = pd.DataFrame({"name": names, "range": range(len(names))}).assign(
        start_ns=range(len(names)), duration_ns=1000, kind="operator", operator=""
    )
    return ranges.assign(phase="train_step", step=0), activities


def operators_of(capture: Any, launched: Any) -> pd.DataFrame:
    ranges, activities = capture
    launched = launched | {"status": "ok", "reason": ""}
    result = {"case": PLAIN.as_dict(), "phases": {"train_step": {"launched": launched}}}
    return operator_tables(ranges, with_places(ranges, activities), result)["operators"]


def by_path(table: pd.DataFrame) -> dict[Any, float]:
    sums = table.groupby(["path", *KEYS])["busy_ms_per_step"].sum()
    return {key: round(value, 6) for key, value in sums.items()}


TIED = {"softmax": "aten::exp", "scores": "aten::bmm", "values": "aten::bmm", "qkv": "aten::mm",
        "output": "aten::mm", "feed_forward": "", "attention": "", "block": ""}  # fmt: skip
"""By a range, an operator of it that only one range has, if one does."""


@pytest.mark.parametrize("name", TIED)
def test_work_has_the_captures_range_if_the_record_lost_it(name: str) -> None:
    """Forward; and a gradient where the record ties it to operators of a single range."""
    launched = record()
    capture = captured(launched)
    whole, after = (operators_of(capture, each) for each in (launched, lost(launched, name)))
    for source in {"", TIED[name]}:
        before, found = (each[each["forward_operator"] == source] for each in (whole, after))
        assert len(before) and by_path(before) == by_path(found)
        assert name in "/".join(before["path"]).split("/")


def test_a_gradient_tied_to_several_ranges_has_the_one_around_them() -> None:
    silu, div = (operator(name, "4x8", range="forward/block") for name in ("silu", "aten::div"))
    backward = div | {"operator": "aten::neg", "forward_operator": "aten::div"}
    backward["forward_shapes"] = div["shapes"]
    launched = {"operators": [silu, div, backward], "names": ["a", "b", "c"], "continued": []}
    launched["sequence"] = [[0, 0], [1, 1], [1, 1], [2, 2]]
    ranges, activities = captured(launched)
    ranges["path"] = [
        *("train_step/forward/block/x", "train_step/forward/block/x"),
        *("train_step/forward/block/y", "train_step/backward"),
    ]
    table = operators_of((ranges, activities), launched).set_index("operator")["path"]
    assert table["aten::neg"] == "train_step/forward/block"
    ranges["path"] = ranges["path"].str.replace("y", "x")
    table = operators_of((ranges, activities), launched).set_index("operator")["path"]
    assert table["aten::neg"] == "train_step/forward/block/x"
