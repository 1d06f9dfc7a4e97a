"""Launch delays, short kernels, the launch queue, and time in API calls."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulated_gpu import Recording
from workflow_src.captures.call_kinds import call_kinds
from workflow_src.placing.case_capture import read_case
from workflow_src.placing.launches import (
    api_calls,
    launch_delays,
    launches,
    mean_depths,
    queue_depths,
)

DATA = Path(__file__).parent / "data" / "nsys"
Tables = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]


def tables_of(folder: Path) -> Tables:
    """The tables launches, launch_delays and api_calls of an export."""
    case = read_case(folder)
    return (
        launches(case.ranges, case.work),
        launch_delays(case.ranges, case.work),
        api_calls(case.ranges, case.capture.calls),
    )


@pytest.fixture
def made(tmp_path: Path) -> Tables:
    """Two steps: three launches, of which two wait in the queue, then a memset outside any step."""
    recording = Recording()
    recording.range("forward", 0, 200_000)
    recording.range("forward", 300_000, 400_000)
    recording.call("cuKernelGetName", 500, 600)
    recording.kernel((1_000, 6_000), (8_000, 68_000))
    recording.kernel((10_000, 15_000), (69_000, 72_000), "short")
    recording.kernel((20_000, 25_000), (73_000, 80_000), "less short")
    recording.call("cudaDeviceSynchronize_v3020", 26_000, 84_000)
    recording.kernel((310_000, 316_000), (315_000, 319_999), "short")
    recording.call("cudaMalloc_v3020", 320_000, 330_000)
    recording.kernel((500_000, 510_000), (520_000, 521_000), "outside")
    return tables_of(recording.write(tmp_path))


def test_launches_of_a_phase(made: Tables) -> None:
    (row,) = made[0].to_dict("records")
    assert (row["phase"], row["launches"], row["kernels"]) == ("forward", 4, 4)
    assert (row["kernels_under_5us"], row["kernels_under_5us_ns"]) == (2, 3_000 + 4_999)
    assert (row["kernels_under_10us"], row["kernels_under_10us_ns"]) == (3, 3_000 + 4_999 + 7_000)
    # Delays are 2, 54, 48 and -1 us; the launches found 0, 0, 1 and 0 in the queue.
    assert row["delay_median_us"] == 25.0
    assert (row["depth_median"], row["depth_max"], row["empty_queue_share"]) == (0, 1, 0.75)


def test_the_depth_of_the_queue_over_a_step(made: Tables) -> None:
    """Over two steps of 200 and 100 us.

    Two kernels wait from 10 and 20 us until 69 and 73 us, one from 1 to 8 us, and in the other
    step one from 310 to 315 us.
    """
    (row,) = made[0].to_dict("records")
    tenths = [row[f"depth_tenth_{n}"] for n in range(1, 11)]
    # The parts are of 20 us in the first step, and of 10 us in the second.
    first = [(7 + 10) / 20, 40 / 20, 40 / 20, (9 + 13) / 20, *[0] * 6]
    second = [0, 5 / 10, *[0] * 8]
    expected = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
    assert tenths == pytest.approx(expected)


def test_what_waits_beyond_its_step_counts_only_inside_of_it() -> None:
    found = mean_depths(np.array([1050]), np.array([9999]), 1000, 1100)
    assert found.tolist() == [0.0] * 5 + [1.0] * 5


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 60)), max_size=20))
def test_the_mean_depth_agrees_with_counting_at_each_moment(pairs: list[tuple[int, int]]) -> None:
    launch = np.array([at for at, _ in pairs], dtype=np.int64)
    start = np.array([at + wait for at, wait in pairs], dtype=np.int64)
    depth = [((launch <= at) & (start > at)).sum() for at in range(100)]
    expected = np.reshape(depth, (10, 10)).mean(axis=1)
    assert mean_depths(launch, start, 0, 100) == pytest.approx(expected)


def test_the_histogram_of_launch_delays(made: Tables) -> None:
    rows = made[1].astype(object).where(made[1].notna(), None).to_numpy().tolist()
    assert rows == [
        ["forward", None, 0, 1, -1_000],
        ["forward", 2, 5, 1, 2_000],
        ["forward", 20, 50, 1, 48_000],
        ["forward", 50, 100, 1, 54_000],
    ]


def test_api_calls_of_a_phase(made: Tables) -> None:
    columns = ["phase", "steps", "kind", "name", "calls", "total_ns"]
    expected = [
        ("forward", 2, "synchronize", "cudaDeviceSynchronize", 1, 58_000),
        ("forward", 2, "launch", "cudaLaunchKernel", 4, 5_000 * 3 + 6_000),
        ("forward", 2, "malloc", "cudaMalloc", 1, 10_000),
        ("forward", 2, "other", "cuKernelGetName", 1, 100),
    ]
    found = made[2].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected, columns=columns))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaLaunchKernelExC", "launch"),
        ("cuLaunchKernelEx", "launch"),
        ("cudaGraphLaunch", "launch"),
        ("cudaEventSynchronize", "synchronize"),
        ("cuMemcpyHtoDAsync", "memcpy"),
        ("cudaMemsetAsync", "memset"),
        ("cudaMallocAsync", "malloc"),
        ("cuMemAlloc", "malloc"),
        ("cudaHostAlloc", "malloc"),
        ("cudaFreeHost", "free"),
        ("cuMemFree", "free"),
        ("cudaStreamWaitEvent", "other"),
    ],
)
def test_what_an_api_call_does(name: str, kind: str) -> None:
    assert call_kinds(pd.Series([name])).tolist() == [kind]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30)), max_size=20))
def test_the_depth_of_the_queue_agrees_with_counting(pairs: list[tuple[int, int]]) -> None:
    launch = np.array([at for at, _ in pairs], dtype=np.int64)
    start = np.array([at + wait + 1 for at, wait in pairs], dtype=np.int64)
    expected = [((launch < at) & (start > at)).sum() for at in launch]
    assert queue_depths(launch, start).tolist() == expected


def test_recorded_launches_of_an_h200() -> None:
    found, delays, calls = tables_of(DATA / "tiny-ctx64-fp32")
    row = found.set_index("phase").loc["train_step"]
    assert (row["launches"], row["kernels"], row["kernels_under_5us"]) == (1434, 1407, 1326)
    assert (row["delay_median_us"], row["depth_median"], row["depth_max"]) == (2.36, 0, 1)
    of_phase = delays.groupby("phase")["kernels"].sum()
    assert of_phase.to_dict() == found.set_index("phase")["kernels"].to_dict()
    forward = calls[calls["phase"] == "forward"].set_index("name")
    assert tuple(forward.loc["cudaLaunchKernel", ["calls", "total_ns"]]) == (267, 1_233_257)
    assert tuple(forward.loc["cudaDeviceSynchronize", ["calls", "total_ns"]]) == (3, 33_506)


def test_a_capture_without_launches_has_tables_without_rows(tmp_path: Path) -> None:
    recording = Recording()
    recording.range("forward", 0, 1000)
    recording.kernel(None, (100, 200))
    for table in tables_of(recording.write(tmp_path)):
        assert len(table) == 0 and "phase" in table.columns
