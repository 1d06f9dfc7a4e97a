"""Whatever the ranges and launches: device time is conserved, and lies where a search says."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tests.captures.building import Range, Work, capture_of, unplaced
from tests.examples import costly
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.attributed import Attributed, attributed
from workflow_src.placing.placing import WHOLE
from workflow_src.tables.capture_tables import placed_tables

TIMES = st.integers(0, 40)
THREADS = st.tuples(st.sampled_from([1, 2]), st.sampled_from([1, 2, 3]))


ranges = st.lists(
    st.builds(
        lambda name, start, length, thread: Range(name, start, start + length, thread),
        st.sampled_from(["a", "b", "a/b", "\\", "é"]), TIMES, st.integers(0, 30), THREADS,
    ),
    max_size=12,
)  # fmt: skip
works = st.lists(
    st.builds(Work, st.none() | TIMES, st.integers(0, 9), THREADS, st.integers(0, 1)), max_size=12
)


def expected(given: list[Range], trees: list[int], work: Work, tree: int) -> Range | str | None:
    """The range that a launch belongs to, by looking at every range; WHOLE, or None.

    trees, tree: the thread with whose ranges each range, and the launch, is placed.
    """
    process = work.thread[0]
    if all(r.thread[0] != process for r in given):
        return WHOLE
    if work.launch is None:
        return None
    candidates = [
        r
        for r, other in zip(given, trees, strict=True)
        if (r.thread[0], other) == (process, tree) and r.start <= work.launch < r.end
    ]
    return max(candidates, key=lambda r: (r.start, -r.end), default=None)


@costly
@given(ranges, works)
def test_device_time_is_conserved_and_lies_where_a_search_finds_it(
    given: list[Range], launched: list[Work]
) -> None:
    found = attributed(capture_of(given, launched), None, step="a")
    tables = placed_tables(found)
    all_is_in_a_path_or_has_a_reason(tables, given, launched)
    each_launch_lies_in_the_range_that_a_search_finds(found, given, launched)


def all_is_in_a_path_or_has_a_reason(
    tables: dict[str, pd.DataFrame], given: list[Range], launched: list[Work]
) -> None:
    placed = round(tables["paths"]["own_ms"].sum() * 1e6)
    assert placed + sum(unplaced(tables).values()) == sum(w.length for w in launched)
    assert tables["kernels"]["activities"].sum() == len(launched)
    assert tables["paths"]["instances"].sum() >= len(given)


def each_launch_lies_in_the_range_that_a_search_finds(
    found: Attributed, given: list[Range], launched: list[Work]
) -> None:
    """And in all ranges around that one, which are open, too."""
    placed = found.placed.ranges
    trees = placed["tree"].tolist()[: len(given)]
    rows = found.work[["range", "tree"]].to_numpy().tolist()
    for (row, placed_with), work in zip(rows, launched, strict=True):
        wanted = expected(given, trees, work, placed_with)
        if wanted is None or wanted == WHOLE:
            assert (row == NOWHERE) == (wanted is None)
            continue
        assert isinstance(wanted, Range) and work.launch is not None
        here = placed.iloc[row]
        assert (here["start_ns"], here["end_ns"]) == (wanted.start, wanted.end)
        assert (here["process"], here["thread"]) == wanted.thread
        while row != NOWHERE:
            assert placed["start_ns"][row] <= work.launch < placed["end_ns"][row]
            row = int(placed["parent"][row])
