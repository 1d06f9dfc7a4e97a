"""A test per verdict of (f): which follows from the numbers that a result counts."""

import importlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.answers.subsets import empty
from workflow_src.answers.among import Among
from workflow_src.answers.change_first.result import Chosen, Counts
from workflow_src.answers.questions import QUESTIONS
from workflow_src.paper.show import Printer
from workflow_src.paper.value import Value


def among(holds: int, of: int) -> Among:
    return Among(Value(holds, "count", ()), Value(of, "count", ()))


def first(cases: Mapping[str, int], sure: int = 0, none: int = 0) -> Mapping[str, object]:
    """(f): in how many cases each remedy is named first, or none is."""
    every = Value(sum(cases.values()) + none, "count", ())
    ranked = {name: Among(Value(number, "count", ()), every) for name, number in cases.items()}
    told = {name: Value(n, "count", ()) for name, n in (("sure", sure), ("none", none))}
    saved, one = Value(0.25, "share", ()), Value(1, "count", ())
    chosen = Chosen(saved, measured=one, predicted=one, alone=one, narrowed=one)
    counts = Counts(every, ranked, named=chosen, top=chosen, best=chosen, **told)
    return {"counts": counts}


@pytest.mark.parametrize(
    ("question", "values", "verdict"),
    [
        ("f", first({"graph": 3, "bf16": 1}), "FIRST"),
        ("f", first({"graph": 7, "bf16": 3}, sure=1, none=2), "DEPENDS"),
        ("f", first({}, none=4), "NOTHING"),
        ("f", first({}), "CANT_TELL"),
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
