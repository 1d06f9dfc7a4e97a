"""A test per verdict of (c): which follows from the numbers that a result counts."""

import importlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.answers.subsets import empty
from workflow_src.answers.among import Among
from workflow_src.answers.questions import QUESTIONS
from workflow_src.paper.show import Printer
from workflow_src.paper.value import Value


def among(holds: int, of: int) -> Among:
    return Among(Value(holds, "count", ()), Value(of, "count", ()))


def no_product(over: int, of: int, leader: str) -> Mapping[str, object]:
    """(c): in how many cases over half is no product, and which component leads."""
    medians = {name: Value(0.5, "share", ()) for name in ("fp32", "tf32", "bf16")}
    counted = among(over, of)
    return {"over_half": counted, "leads": counted, "leader": leader, "medians": medians}


@pytest.mark.parametrize(
    ("question", "values", "verdict"),
    [
        ("c", no_product(34, 60, "softmax"), "MOST"),
        ("c", no_product(1, 1, "softmax"), "MOST"),
        ("c", no_product(0, 20, "softmax"), "LESS"),
        ("c", no_product(0, 2, ""), "NOTHING"),
        ("c", no_product(0, 0, ""), "CANT_TELL"),
    ],
)
def test_the_verdict_follows_from_what_is_counted(
    question: str, values: Mapping[str, Any], verdict: str
) -> None:
    room = f"workflow_src.answers.{QUESTIONS[question].room}"
    nothing = importlib.import_module(f"{room}.result").result(empty())
    said = importlib.import_module(f"{room}.headline").headline(replace(nothing, **values))
    assert said.verdict.name == verdict
    assert len(str(said.text(Printer())).split()) <= 45
