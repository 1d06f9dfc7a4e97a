"""Attribution on recorded exports, and on random traces against a simple reference."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_src.common.errors import TraceError
from workflow_src.common.nesting import NOWHERE, nest
from workflow_src.placing.attribution import attribute, device_times, number_steps
from workflow_src.traces import nsys
from workflow_src.traces.trace import Trace

DATA = Path(__file__).parent / "data" / "nsys"
AUTOGRAD_THREAD = DATA / "autograd_thread_nsys2025.3.sqlite"
SINGLE_THREAD = DATA / "single_thread_nsys2025.3.sqlite"
OLD = DATA / "autograd_thread_nsys2023.4.sqlite"


def kernel_time(database: Path, word: str, same_thread: bool = False) -> int:
    """Kernel time (ns) in paths with `word`; `same_thread`: launched on a thread with ranges."""
    trace = nsys.read(database)
    if same_thread:
        threads = trace.ranges["thread"].unique()
        kept = trace.activities[trace.activities["thread"].isin(threads)]
        trace = Trace(trace.profiler, trace.profiler_version, trace.ranges, kept)
    ranges, activities = attribute(trace)
    paths = np.append(ranges["path"].to_numpy(dtype=object), "")[activities["range"]]
    inside = np.array([word in path for path in paths]) & (activities["kind"] == "kernel")
    return int(activities.loc[inside, "duration_ns"].sum())


def test_backward_has_its_kernels_although_another_thread_launched_them() -> None:
    assert kernel_time(AUTOGRAD_THREAD, "backward") == 2_216_506
    assert kernel_time(SINGLE_THREAD, "backward") == 2_219_160


def test_joining_kernels_by_thread_loses_backward() -> None:
    """Matching by thread, as nvtx_kern_sum does, misses kernels launched by autograd's thread."""
    assert kernel_time(AUTOGRAD_THREAD, "backward", same_thread=True) == 4_448
    assert kernel_time(OLD, "", same_thread=True) == 4_653_813 - 2_277_708


@pytest.mark.parametrize(
    ("database", "total"),
    [(AUTOGRAD_THREAD, 4_644_724), (SINGLE_THREAD, 4_650_129), (OLD, 4_653_813)],
)
def test_all_kernel_time_is_conserved_to_the_nanosecond(database: Path, total: int) -> None:
    trace = nsys.read(database)
    ranges, activities = attribute(trace)
    kernels = activities[activities["kind"] == "kernel"]
    assert len(kernels) == 66
    assert int(kernels["duration_ns"].sum()) == total
    timed = device_times(ranges, activities)
    outside = activities.loc[activities["range"] == NOWHERE, "duration_ns"].sum()
    roots = timed.loc[timed["parent"] == NOWHERE, "busy_ns"].sum()
    assert roots + outside == trace.total_ns


def rows(*ranges: tuple[str, int, int, int]) -> pd.DataFrame:
    names = ["name", "start_ns", "end_ns", "thread"]
    return pd.DataFrame(ranges, columns=names).assign(process=1)


def launches(*activities: tuple[int, int], process: int = 1) -> pd.DataFrame:
    table = pd.DataFrame(activities, columns=["launch_ns", "thread"])
    return table.assign(
        kind="kernel", name="k", operator="", process=process, duration_ns=10,
        start_ns=table["launch_ns"] + 5, end_ns=table["launch_ns"] + 15,
    )  # fmt: skip


def paths_of(ranges: pd.DataFrame, activities: pd.DataFrame) -> list[str]:
    placed, owned = attribute(Trace("nsys", "", ranges, activities))
    return [placed["path"][at] if at != NOWHERE else "" for at in owned["range"]]


def test_launches_take_the_innermost_range_and_ends_are_excluded() -> None:
    ranges = rows(("step", 0, 100, 1), ("forward", 10, 50, 1), ("norm", 10, 20, 1))
    found = paths_of(ranges, launches((5, 1), (10, 1), (20, 1), (50, 1), (100, 1), (-1, 1)))
    assert found == ["step", "step/forward/norm", "step/forward", "step", "", ""]


def test_ranges_of_another_thread_extend_the_main_threads_path() -> None:
    ranges = rows(("step", 0, 100, 1), ("backward", 10, 90, 1), ("hook", 30, 40, 2))
    found = paths_of(ranges, launches((35, 2), (50, 2), (95, 3)))
    assert found == ["step/backward/hook", "step/backward", "step"]


def test_another_process_does_not_share_ranges() -> None:
    ranges = rows(("step", 0, 100, 1))
    assert paths_of(ranges, launches((50, 1), process=2)) == [""]


def test_adjacent_ranges_do_not_nest() -> None:
    parent = nest(np.array([0, 10, 20]), np.array([10, 20, 30])).parent
    assert parent.tolist() == [NOWHERE] * 3


def test_overlapping_ranges_are_an_error() -> None:
    with pytest.raises(TraceError, match="overlap"):
        nest(np.array([0, 5]), np.array([10, 15]))


def test_busy_is_inclusive_and_span_runs_from_first_start_to_last_end() -> None:
    ranges = rows(("train_step", 0, 100, 1), ("forward", 10, 50, 1), ("train_step", 200, 300, 1))
    placed, owned = attribute(Trace("nsys", "", ranges, launches((20, 1), (60, 1), (250, 1))))
    timed = device_times(number_steps(placed), owned)
    assert timed["busy_ns"].tolist() == [20, 10, 10]
    assert timed["span_ns"].tolist() == [50, 10, 10]
    assert timed["step"].tolist() == [0, 0, 1]
    assert timed["phase"].tolist() == ["train_step"] * 3


def test_a_range_outside_any_step_has_no_phase() -> None:
    placed, _ = attribute(Trace("nsys", "", rows(("other", 0, 9, 1)), launches()))
    numbered = number_steps(placed)
    assert numbered["phase"].tolist() == [""] and numbered["step"].tolist() == [NOWHERE]


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


@given(nested(), st.lists(st.tuples(st.integers(0, 70), st.sampled_from([1, 2])), max_size=20))
def test_device_time_is_conserved_whatever_the_trace(
    intervals: list[tuple[int, int]], calls: list[tuple[int, int]]
) -> None:
    ranges = rows(*(("train_step", start, end, 1) for start, end in intervals))
    placed, owned = attribute(Trace("nsys", "", ranges, launches(*calls)))
    timed = device_times(number_steps(placed), owned)
    outside = owned.loc[owned["range"] == NOWHERE, "duration_ns"].sum()
    assert timed.loc[timed["parent"] == NOWHERE, "busy_ns"].sum() + outside == 10 * len(calls)
