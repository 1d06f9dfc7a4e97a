"""Matrix products are named by what their sizes say, though a profiler may lose ranges."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from tests.test_operators import CASE
from workflow_src.common.case import Case
from workflow_src.measure import operators
from workflow_src.measure.workload import Workload
from workflow_src.tables.products import call_names

IN_FEED_FORWARD = ("gate", "up", "down")
NAMES = ("qkv", "scores", "values", "output", *IN_FEED_FORWARD, "head")
# No two of its dimensions coincide.
PLAIN = replace(CASE, context=6, batch=3, vocabulary=50)


@cache
def record(case: Case) -> Any:
    """What launched the work of a training step on this CPU."""
    workload = Workload(case)
    workload.train_step()
    return operators.launched(workload.train_step, "cpu")


def by_recorded_range(each: Any) -> str:
    """The name by a whole record's range, and by the order of the forward operator within it."""
    last = each["range"].rpartition("/")[2]
    return IN_FEED_FORWARD[each["order"]] if last == "feed_forward" else str(last)


def names_of(launched: Any, case: Case) -> list[tuple[str, str]]:
    """For each product of a record the name that sizes and order tell, and that of its range."""
    found = call_names(launched, case).items()
    numbers = [launched["sequence"][place][0] for place, _ in found]
    operators = [launched["operators"][number] for number in numbers]
    return [(name, by_recorded_range(o)) for (_, name), o in zip(found, operators, strict=True)]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("attention", ["naive", "sdpa"])
def test_sizes_and_order_tell_what_whole_ranges_say(precision: str, attention: str) -> None:
    case = replace(PLAIN, precision=precision, attention=attention)
    found = names_of(record(case), case)
    per_layer = 7 if attention == "naive" else 5
    assert len(found) == 3 * (per_layer * case.layers + 1)
    assert all(name == said for name, said in found), found


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ({"d_ff": 16}, set(NAMES)),
        ({"context": 8}, set(NAMES)),
        ({"vocabulary": 16}, set(NAMES) - {"output", "head"}),
        ({"vocabulary": 32}, set(NAMES) - {"gate", "up", "head"}),
        ({"vocabulary": 16, "d_ff": 16}, set(NAMES) - {"output", *IN_FEED_FORWARD, "head"}),
    ],
)
def test_where_dimensions_coincide_order_tells_or_nothing_is_said(
    sizes: dict[str, int], told: set[str]
) -> None:
    """The head runs once, not in each layer, so that its place among equals isn't a cycle's."""
    case = replace(PLAIN, **sizes)
    found = names_of(record(case), case)
    assert {said for name, said in found if name == said} == told
    assert {name for name, said in found if name != said} <= {""}


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


@pytest.mark.parametrize("name", ["feed_forward", "attention", "qkv", "block"])
def test_a_product_whose_range_was_lost_has_its_name(name: str) -> None:
    launched = record(PLAIN)
    before, after = call_names(launched, PLAIN), call_names(lost(launched, name), PLAIN)
    assert before == after and set(after.values()) == set(NAMES)
