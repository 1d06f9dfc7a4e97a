"""The profiler study: from raw rows to pairs, and what they say."""

from typing import Any

import pytest

from tests.studies.chapters import facts
from tests.studies.tables import table


def pair(plain: float, profiled: float, case: str = "a") -> dict[str, Any]:
    """A row of the table."""
    return {"case": case, "plain_ms": plain, "profiled_ms": profiled}


@pytest.mark.parametrize(
    ("pairs", "verdict", "shown"),
    [
        ([pair(10, 15), pair(20, 28), pair(10, 16)], "costs", ("1.5 ×", "1.4 ×", "1.6 ×")),
        ([pair(10, 15), pair(20, 19), pair(10, 16)], "not shown", ("1.5 ×", "0.95 ×", "1.6 ×")),
        ([pair(10, 15), pair(20, 28)], "not shown", ("1.4 ×", "1.4 ×", "1.5 ×")),
        ([{"case": "a", "status": "oom", "reason": "no memory"}], "can't tell", ()),
    ],
)
def test_a_cost_is_shown_by_three_pairs_that_agree(
    pairs: list[dict[str, Any]], verdict: str, shown: tuple[str, ...]
) -> None:
    found = facts("profiler", table(*pairs))
    assert found["verdict"] == verdict
    times = [each for cell in found["cases"]["times"] for each in (cell, *cell.ends)]
    assert tuple(map(str, times)) == shown
