"""How intervals nest, and the phases and steps of a case's capture."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workflow_src.captures.capture import Capture
from workflow_src.captures.reading import read
from workflow_src.common.nesting import NOWHERE, flattened, tree
from workflow_src.placing.case_capture import placed_case

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


DATA = Path(__file__).parent / "data" / "nsys"
AUTOGRAD_THREAD = DATA / "autograd_thread_nsys2025.3.sqlite"
SINGLE_THREAD = DATA / "single_thread_nsys2025.3.sqlite"


def kernel_time(capture: Capture, word: str) -> int:
    """Kernel time (ns) in paths with `word`."""
    case = placed_case(capture)
    paths = np.append(case.ranges["path"].to_numpy(dtype=object), "")[case.work["range"]]
    inside = np.array([word in path for path in paths]) & (case.work["kind"] == "kernel")
    return int(case.work.loc[inside, "duration_ns"].sum())


def test_backward_has_its_kernels_although_another_thread_launched_them() -> None:
    assert kernel_time(read(AUTOGRAD_THREAD), "backward") == 2_216_506
    assert kernel_time(read(SINGLE_THREAD), "backward") == 2_219_160
