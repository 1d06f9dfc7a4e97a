"""How intervals nest: recorded in a row, overlapping, and against a simple reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_src.common.errors import TraceError
from workflow_src.common.nesting import NOWHERE, nest


def test_adjacent_ranges_do_not_nest() -> None:
    parent = nest(np.array([0, 10, 20]), np.array([10, 20, 30])).parent
    assert parent.tolist() == [NOWHERE] * 3


def test_overlapping_ranges_are_an_error() -> None:
    with pytest.raises(TraceError, match="overlap"):
        nest(np.array([0, 5]), np.array([10, 15]))


@st.composite
def nested(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Properly nested intervals, some of them adjacent or equal."""
    intervals: list[tuple[int, int]] = []

    def fill(start: int, end: int, depth: int) -> None:
        at = start
        while at < end and depth < 5 and len(intervals) < 30 and draw(st.booleans()):
            begin = draw(st.integers(at, end - 1))
            stop = draw(st.integers(begin + 1, end))
            intervals.append((begin, stop))
            fill(begin, stop, depth + 1)
            at = stop

    fill(0, 60, 0)
    return intervals


def reference(intervals: list[tuple[int, int]], moment: int) -> int:
    """The innermost interval open at a moment: the last in the list, outer ones come first."""
    found = [n for n, (start, end) in enumerate(intervals) if start <= moment < end]
    return found[-1] if found else NOWHERE


@given(nested(), st.lists(st.integers(-5, 65), max_size=20), st.randoms())
def test_nesting_agrees_with_a_linear_search(
    intervals: list[tuple[int, int]], moments: list[int], random: object
) -> None:
    start, end = np.array(intervals, dtype=np.int64).reshape(-1, 2).T
    nesting = nest(start, end)
    found = nesting.at(np.array(moments, dtype=np.int64))
    expected = [reference(intervals, moment) for moment in moments]
    equal = [
        a == b or (a != NOWHERE and b != NOWHERE and intervals[a] == intervals[b])
        for a, b in zip(found.tolist(), expected, strict=True)
    ]
    assert all(equal)
