"""How intervals nest, against a search through all of them: whatever they are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workflow_src.common.nesting import NOWHERE, flattened, tree

INTERVALS = st.lists(
    st.builds(lambda at, length: (at, at + length), st.integers(0, 40), st.integers(0, 25)),
    max_size=14,
)


@given(INTERVALS)
def test_nesting_agrees_with_a_search_through_all(intervals: list[tuple[int, int]]) -> None:
    start, end = np.array(intervals, dtype=np.int64).reshape(-1, 2).T
    found, moments = tree(start, end), np.arange(-1, 70)
    outer_first = sorted(range(len(start)), key=lambda n: (start[n], -end[n], n))
    lasting = [n for n in outer_first if end[n] > start[n]]

    def latest(several: list[int]) -> int:
        return several[-1] if several else NOWHERE

    def open_at(moment: int) -> list[int]:
        return [n for n in lasting if start[n] <= moment < end[n]]

    assert found.at(moments).tolist() == [latest(open_at(m)) for m in moments.tolist()]
    before = {
        n: lasting[: lasting.index(n)] if n in lasting else open_at(start[n]) for n in outer_first
    }
    holding = {n: [m for m in before[n] if end[m] >= end[n]] for n in outer_first}
    parent = [latest(holding[n]) for n in range(len(start))]
    assert found.parent.tolist() == parent
    outlasted = [any(start[n] < end[m] < end[n] for m in before[n]) for n in lasting]
    assert found.overlapping == sum(outlasted)

    def path(n: int) -> list[int]:
        return [] if n == NOWHERE else [*path(parent[n]), n]

    flat, too_deep = flattened(found.parent, deepest=2)
    paths = [path(n) for n in range(len(start))]
    assert flat.tolist() == [each[0] if len(each) > 1 else NOWHERE for each in paths]
    assert too_deep == sum(len(each) > 2 for each in paths)
