"""What counts as a saving, and of which remedy."""

from typing import Any

import pytest

from tests.studies.levers.rows import FUSED, STEP, ends, tried
from tests.studies.tables import table_of
from workflow_src.studies.levers.figure import draw
from workflow_src.studies.levers.points import PLAIN
from workflow_src.studies.levers.steps import Case, cases
from workflow_src.studies.lines import lines


def case_of(*rows: dict[str, Any]) -> Case:
    (case,) = cases(lines(table_of(rows), "levers"))
    return case


def first_of(*rows: dict[str, Any]) -> str | None:
    first = case_of(*rows).first
    return first.words if first else None


def test_the_remedy_that_alone_saves_most_is_the_first() -> None:
    assert first_of(STEP, tried("sdpa", 80.0), tried("graph", 70.0)) == "a CUDA graph"
    assert first_of(STEP, tried("sdpa", 98.0)) is None, "below 3 %"
    assert first_of(STEP, tried("zzz", 50.0)) == "zzz", "of another version"


def test_no_step_with_broken_gradients_is_a_saving() -> None:
    broken = {"gradients_error": None}
    assert first_of(STEP, tried("sdpa", 80.0, **broken), tried("graph", 90.0)) == "a CUDA graph"
    case = case_of(STEP, tried("sdpa", 80.0, **broken), tried("then_fused", 70.0, **FUSED))
    assert [gain.words for gain in case.gains] == ["fused attention + fused AdamW"]
    both = first_of(STEP | broken, tried("sdpa", 80.0, **broken))
    assert both == "fused attention", "not the remedy's fault"


def test_twice_the_batch_is_no_faster_step() -> None:
    case = case_of(STEP, tried("batch_x2", 50.0, batches=2))
    assert (case.first, case.alone, case.least) == (None, [], None)


def test_a_difference_that_processes_show_among_themselves_is_none() -> None:
    """The plain step's medians go from 90 to 110 ms, and only sdpa's are all below them."""
    plain = STEP | ends(90.0, 110.0)
    near = tried("fused", 75.0, **ends(70.0, 95.0))
    case = case_of(plain, tried("sdpa", 80.0, **ends(78.0, 89.0)), near)
    assert case.first and case.first.words == "fused attention"


@pytest.mark.parametrize(("slowest", "clear"), [(79.0, True), (81.0, False)])
def test_of_remedies_whose_processes_overlap_none_is_clear(slowest: float, clear: bool) -> None:
    rows = [
        STEP | ends(95.0, 110.0),
        tried("sdpa", 78.0, **ends(77.0, slowest)),
        tried("fused", 85.0, **ends(80.0, 89.0)),
    ]
    assert case_of(*rows).first_is_clear == clear


LOST = tried("sdpa", None, status="oom")
THEN = [
    tried("then_fused", 70.0, **FUSED),
    tried("then_graph", 50.0, remedies="sdpa+fused+graph"),
]


def test_a_saving_is_of_all_remedies_since_the_last_step_that_was_measured() -> None:
    gains = case_of(STEP, LOST, *THEN).gains
    assert [(gain.words, gain.ms and gain.ms.number) for gain in gains] == [
        ("fused attention + fused AdamW", 30.0),
        ("a CUDA graph", 20.0),
    ]


def test_only_the_stack_is_on_top_of_each_other() -> None:
    assert case_of(STEP, tried("triton_softmax", 90.0)).gains == []


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([STEP, LOST, *THEN], ["plain", "+ fused attention + fused AdamW", "+ a CUDA graph"]),
        ([LOST, *THEN], ["fused attention + fused AdamW", "+ a CUDA graph"]),
    ],
)
def test_a_bar_is_named_after_what_it_adds_to_the_one_before(
    rows: list[dict[str, Any]], names: list[str]
) -> None:
    (axes,) = draw(table_of(rows)).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == names
    assert not draw(table_of([tried(PLAIN, None, status="oom")])).axes
