"""The ledger of a step on exports made by hand, simulated, and recorded on a GPU."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulated_gpu import LATENCY_NS, RETURN_NS, Recording, Simulation
from workflow_src.captures.capture import (
    API,
    KERNEL,
    OVERHEAD,
    PAGEABLE_COPY,
    RANGES,
    WORK,
    Capture,
    calls_frame,
    frame,
)
from workflow_src.captures.domains import DEFAULT
from workflow_src.common.errors import TraceError
from workflow_src.placing.case_capture import CaseCapture, placed_case, read_case, require_complete
from workflow_src.placing.ledger import CAUSES, LEDGER_COLUMNS, ledger

DATA = Path(__file__).parent / "data" / "nsys"
IDLE = [f"idle_{cause}_ns" for cause in CAUSES]


def ledger_of(case: CaseCapture) -> pd.DataFrame:
    """The ledger of a capture, after checking that its terms add up and none is negative."""
    table = ledger(case.ranges, case.work, case.capture.calls)
    assert tuple(table.columns) == LEDGER_COLUMNS
    assert (table["device_active_ns"] + table["idle_ns"] == table["wall_ns"]).all()
    if (case.capture.calls["kind"] != OVERHEAD).any():
        assert (table[IDLE].sum(axis=1) == table["idle_ns"]).all() and (table[IDLE] >= 0).all(
            axis=None
        )
    return table


def idle(table: pd.DataFrame, step: int = 0) -> dict[str, int]:
    """Idle time of one row by cause, without the causes that are zero."""
    row = {cause: int(table[f"idle_{cause}_ns"].iloc[step]) for cause in CAUSES}
    return {cause: ns for cause, ns in row.items() if ns}


Made = Callable[[Recording], pd.DataFrame]


@pytest.fixture
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A function from a recording to the ledger of its export."""
    return lambda recording: ledger_of(read_case(recording.write(tmp_path_factory.mktemp("e"))))


def one_step(end: int = 1000) -> Recording:
    recording = Recording()
    recording.range("forward", 0, end)
    return recording


def test_a_launch_bound_step_waits_for_launches_and_for_their_latency(made: Made) -> None:
    step = one_step()
    step.kernel((100, 150), (170, 270))
    step.kernel((400, 450), (460, 500))
    step.call("cudaDeviceSynchronize_v3020", 600, 610)
    table = made(step)
    row = table.iloc[0]
    assert (row["wall_ns"], row["device_active_ns"], row["busy_ns"]) == (1000, 140, 140)
    # 0 to 150, 270 to 450, and 500 to 600, when the host asks for the end; then 600 to 1000.
    assert idle(table) == {"launch": 150 + 180 + 100, "queued": 20 + 10, "tail": 400}


def test_a_kernel_that_starts_before_its_call_returns_was_available_when_it_started(
    made: Made,
) -> None:
    step = one_step()
    step.kernel((100, 200), (150, 1000))
    assert idle(made(step)) == {"launch": 150}


def test_work_in_the_queue_is_not_the_hosts_fault(made: Made) -> None:
    step = one_step()
    step.kernel((0, 10), (20, 100))
    step.kernel((10, 20), (300, 900), "waits for an event")
    step.call("cudaDeviceSynchronize_v3020", 30, 950)
    assert idle(made(step)) == {"launch": 10, "queued": 10 + 200, "tail": 100}


def test_work_in_the_queue_counts_whichever_activity_starts_first(made: Made) -> None:
    step = one_step()
    step.kernel((0, 10), (10, 100))
    step.kernel((20, 30), (800, 1000), "waits for an event")
    step.kernel((400, 410), (420, 500), "on another stream")
    assert idle(made(step)) == {"launch": 10, "queued": (420 - 100) + (800 - 500)}


def test_a_host_far_ahead_loses_the_entire_gap_to_a_synchronization(made: Made) -> None:
    step = one_step()
    step.kernel((0, 10), (10, 500))
    step.call("cudaStreamSynchronize_v3020", 20, 505)
    step.kernel((540, 550), (560, 1000))
    assert idle(made(step)) == {"launch": 10, "synchronization": 60}


def test_a_host_that_is_behind_loses_the_duration_of_a_synchronization(made: Made) -> None:
    step = one_step()
    step.kernel((0, 10), (10, 100))
    step.call("cudaDeviceSynchronize_v3020", 300, 304)
    step.kernel((540, 550), (560, 1000))
    assert idle(made(step)) == {"launch": 10 + 446, "synchronization": 4, "queued": 10}


def test_a_host_a_little_ahead_loses_as_long_as_it_was_held(made: Made) -> None:
    """Held from 90 to 120, it would have launched by 520 instead of 550."""
    step = one_step()
    step.kernel((0, 10), (10, 100))
    step.call("cudaDeviceSynchronize_v3020", 90, 120)
    step.kernel((540, 550), (560, 1000))
    assert idle(made(step)) == {"launch": 10 + 420, "synchronization": 30, "queued": 10}


def test_a_synchronization_before_a_launch_into_a_full_queue_costs_nothing(made: Made) -> None:
    step = one_step()
    step.kernel((0, 10), (10, 500))
    step.call("cudaEventSynchronize_v3020", 20, 200)
    step.kernel((210, 220), (510, 1000))
    assert idle(made(step)) == {"launch": 10, "queued": 10}


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("cudaDeviceSynchronize_v3020", True),
        ("cuStreamSynchronize", True),
        ("cudaEventSynchronize_v3020", True),
        ("cudaMemcpy_v3020", True),
        ("cudaFree_v3020", True),
        ("cudaFreeAsync_v11020", False),
        ("cudaMemcpyAsync_v3020", False),
        ("cudaStreamWaitEvent_v3020", False),
        ("cudaMalloc_v3020", False),
    ],
)
def test_which_calls_wait_for_the_device(made: Made, name: str, waits: bool) -> None:
    step = one_step()
    step.kernel((0, 10), (10, 100))
    step.call(name, 300, 400)
    step.kernel((540, 550), (550, 1000))
    cost = {"launch": 360, "synchronization": 100} if waits else {"launch": 460}
    assert idle(made(step)) == cost


def test_overlapping_streams_count_once_in_active_and_twice_in_busy(made: Made) -> None:
    step = one_step()
    step.kernel((0, 10), (10, 600))
    step.kernel((20, 30), (300, 1000), "on another stream")
    table = made(step)
    row = table.iloc[0]
    assert (row["device_active_ns"], row["busy_ns"]) == (990, 590 + 700)
    assert idle(table) == {"launch": 10}, "queued work is no idle time while the device works"


def test_activities_count_in_a_step_only_while_it_lasts(made: Made) -> None:
    step = Recording()
    step.range("forward", 1000, 2000)
    step.kernel((0, 10), (10, 1200), "launched before the step")
    step.kernel((1300, 1310), (1310, 1400))
    step.kernel((1500, 1510), (1900, 2500), "still runs after it")
    table = made(step)
    assert table["device_active_ns"].tolist() == [200 + 90 + 100]
    assert idle(table) == {"launch": 110 + 110, "queued": 390}


def test_overhead_of_the_profiler_is_told_apart_whatever_else_was_the_cause(made: Made) -> None:
    step = one_step()
    step.overhead(50, 70)
    step.kernel((80, 100), (110, 500))
    step.call("cudaDeviceSynchronize_v3020", 200, 505)
    step.overhead(510, 530)
    step.overhead(520, 540)
    step.kernel((590, 600), (600, 1000))
    assert idle(made(step)) == {
        "launch": 80, "queued": 10, "synchronization": 70, "profiler": 20 + 30,
    }  # fmt: skip


def test_what_waits_for_a_launch_outside_the_capture_is_unexplained(made: Made) -> None:
    step = one_step()
    step.kernel(None, (300, 400))
    step.kernel((440, 450), (460, 1000))
    assert idle(made(step)) == {"unexplained": 300, "launch": 50, "queued": 10}


def test_each_step_has_a_row_and_its_own_gaps(made: Made) -> None:
    steps = Recording()
    for start in (0, 10_000, 20_000):
        steps.range("train_step", start, start + 1000)
        steps.kernel((start + 100, start + 110), (start + 115, start + 900))
        steps.call("cudaDeviceSynchronize_v3020", start + 200, start + 910)
    table = made(steps)
    assert table["step"].tolist() == [0, 1, 2] and set(table["phase"]) == {"train_step"}
    expected = {"launch": 110, "queued": 5, "tail": 100}
    assert [idle(table, step) for step in range(3)] == [expected] * 3


def test_a_step_without_device_work_is_the_hosts(made: Made) -> None:
    assert idle(made(calling(one_step()))) == {"launch": 990, "tail": 10}


def calling(recording: Recording) -> Recording:
    recording.call("cudaDeviceSynchronize_v3020", 990, 995)
    return recording


LAYERS, KERNELS = 8, 5


def program(
    kernel_ns: int, host_ns: int, fault: Callable[[Simulation, int], object] = lambda s, n: None
) -> Simulation:
    """A forward step of LAYERS layers; `fault` runs in the middle of each."""
    run = Simulation()
    with run.range("forward"):
        for layer in range(LAYERS):
            for number in range(KERNELS):
                if number == KERNELS // 2:
                    fault(run, layer)
                run.compute(host_ns)
                run.launch(kernel_ns)
        run.synchronize()
    return run


GPU_BOUND, LAUNCH_BOUND = (400_000, 60_000), (2_000, 20_000)
"""Nanoseconds of each kernel, and of the host before each launch."""


def cost(made: Made, base: Simulation, faulty: Simulation) -> tuple[dict[str, int], int]:
    """What a fault adds to each cause in the ledger, and to the idle time of the simulated step."""
    before, after = made(base.recording).iloc[0], made(faulty.recording).iloc[0]
    added = {cause: int(after[f"idle_{cause}_ns"] - before[f"idle_{cause}_ns"]) for cause in CAUSES}
    return added, faulty.idle_ns - base.idle_ns


def synchronize(run: Simulation, layer: int) -> None:
    run.fault()
    run.synchronize()


def item(run: Simulation, layer: int) -> None:
    run.item()
    run.fault()


def copy_pageable(run: Simulation, layer: int) -> None:
    run.copy_pageable(3_000_000)
    run.fault()


@pytest.mark.parametrize("fault", [synchronize, item, copy_pageable])
def test_the_cost_of_waiting_in_each_layer_of_a_gpu_bound_step(
    made: Made, fault: Callable[[Simulation, int], None]
) -> None:
    """It is the gap from the work before to the first work launched after, and recovered whole."""
    faulty = program(*GPU_BOUND, fault)
    added, lost = cost(made, program(*GPU_BOUND), faulty)
    assert len(faulty.gaps) >= LAYERS
    assert added["synchronization"] == sum(faulty.gaps)
    assert added["synchronization"] == pytest.approx(lost, rel=0.02)
    assert added["launch"] == added["unexplained"] == added["tail"] == 0


def test_the_cost_of_waiting_in_each_layer_of_a_launch_bound_step(made: Made) -> None:
    """The device would have been idle anyway: only the duration of the calls is lost."""
    held = LATENCY_NS + LAUNCH_BOUND[0] + RETURN_NS
    added, lost = cost(made, program(*LAUNCH_BOUND), program(*LAUNCH_BOUND, synchronize))
    assert added["synchronization"] == lost == LAYERS * held
    assert added["launch"] == added["queued"] == 0


def test_a_sleep_in_the_middle_of_a_launch_bound_forward(made: Made) -> None:
    def sleep(run: Simulation, layer: int) -> None:
        if layer == LAYERS // 2:
            run.compute(5_000_000)

    added, lost = cost(made, program(*LAUNCH_BOUND), program(*LAUNCH_BOUND, sleep))
    assert lost == 5_000_000 and added["launch"] == lost


def test_a_sleep_in_the_middle_of_a_gpu_bound_forward(made: Made) -> None:
    """The work in the queue hides a part of the sleep; what it doesn't hide is recovered."""

    def sleep(run: Simulation, layer: int) -> None:
        if layer == 1:
            run.compute(5_000_000)
            run.fault()

    faulty = program(*GPU_BOUND, sleep)
    added, lost = cost(made, program(*GPU_BOUND), faulty)
    (gap,) = faulty.gaps
    assert 0 < gap < 5_000_000
    assert added["launch"] + added["queued"] == lost
    assert added["launch"] == pytest.approx(gap, rel=0.02)
    assert added["synchronization"] == added["unexplained"] == 0


@pytest.mark.parametrize(
    ("case", "forward", "train_step"),
    [
        (
            "tiny-ctx64-fp32",
            {"launch": 1_263_766, "queued": 252_505, "tail": 10_904},
            {"launch": 5_336_637, "queued": 1_098_672, "tail": 9_483},
        ),
        (
            "tiny-ctx64-bf16-sdpa-fused",
            {"launch": 1_706_410, "queued": 242_382, "tail": 13_972},
            {"launch": 4_608_932, "queued": 707_662, "tail": 7_719},
        ),
    ],
)
def test_recorded_steps_of_an_h200(
    case: str, forward: dict[str, int], train_step: dict[str, int]
) -> None:
    table = ledger_of(read_case(DATA / case))
    assert idle(table[table["phase"] == "forward"], 1) == forward
    assert idle(table[table["phase"] == "train_step"], 1) == train_step
    assert (table["busy_ns"] == table["device_active_ns"]).all(), "one stream"


def test_a_recorded_step_that_does_not_wait_for_its_work(tmp_path: Path) -> None:
    """Two threads launch; the host is ahead but for two gaps, and the range ends before the work.

    The step begins at 10,407,103; its first kernel starts during its launch call, at 10,521,761. A
    kernel ends at 10,977,597, and the call that launches the next one returns at 10,993,913.
    """
    shutil.copy(DATA / "autograd_thread_nsys2023.4.sqlite", tmp_path / "trace.sqlite")
    with closing(sqlite3.connect(tmp_path / "trace.sqlite")) as connection:
        connection.execute("UPDATE NVTX_EVENTS SET text = 'train_step' WHERE text LIKE 'iter%'")
        connection.commit()
    table = ledger_of(read_case(tmp_path))
    assert len(table) == 6
    row = table.iloc[1]
    assert (row["device_active_ns"], row["busy_ns"]) == (712_002, 783_099)
    launch = (10_521_761 - 10_407_103) + (10_993_913 - 10_977_597)
    assert idle(table, 1) == {"launch": launch, "queued": 14_146}


def test_a_capture_without_api_calls_has_no_causes(tmp_path: Path) -> None:
    for number, change in enumerate(("DELETE FROM", "DROP TABLE")):
        folder = tmp_path / str(number)
        shutil.copytree(DATA / "tiny-ctx64-fp32", folder)
        with closing(sqlite3.connect(folder / "trace.sqlite")) as connection:
            connection.execute(f"{change} CUPTI_ACTIVITY_KIND_RUNTIME")
            connection.commit()
        table = ledger_of(read_case(folder))
        assert len(table) == 9 and table[IDLE].isna().all(axis=None)
        assert (table["device_active_ns"] > 0).all()


def test_a_damaged_api_call_gives_a_one_sentence_error(tmp_path: Path) -> None:
    shutil.copy(DATA / "tiny-ctx64-fp32" / "trace.sqlite", tmp_path)
    with closing(sqlite3.connect(tmp_path / "trace.sqlite")) as connection:
        connection.execute("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = start - 1")
        connection.commit()
    with pytest.raises(TraceError, match=r"\d+ endless calls in the capture by nsys 2025"):
        require_complete(read_case(tmp_path))


MOMENT = st.integers(0, 60)
SPAN = st.tuples(MOMENT, st.integers(0, 20)).map(lambda pair: (pair[0], sum(pair)))
LAUNCHED = st.one_of(SPAN, st.just((-1, -1)))
CALLED = st.tuples(
    SPAN,
    st.sampled_from([API, PAGEABLE_COPY, OVERHEAD]),
    st.sampled_from(["cudaLaunchKernel", "cudaDeviceSynchronize"]),
)


def any_capture(
    steps: list[tuple[int, int]],
    activities: list[tuple[tuple[int, int], tuple[int, int]]],
    calls: list[tuple[tuple[int, int], str, str]],
) -> CaseCapture:
    """A capture of steps (gap before, duration), activities (launch call, run), and calls."""
    ranges, at = [], 0
    for gap, duration in steps:
        ranges.append(("forward", DEFAULT, at + gap, at + gap + duration, 1, 1))
        at += gap + duration
    rows = [
        (KERNEL, "k", start, end, end - start, 1, 0, 0, *launch, 1, "" if launch[0] >= 0 else "?")
        for launch, (start, end) in activities
    ]
    spans, works = (
        frame(columns, dict(pd.DataFrame(table, columns=list(columns)).items()))
        for columns, table in ((RANGES, ranges), (WORK, rows))
    )
    times = np.array([span for span, _, _ in calls], dtype=np.int64).reshape(-1, 2)
    kinds, names = ([call[n] for call in calls] for n in (1, 2))
    numbers = {"start_ns": times[:, 0], "end_ns": times[:, 1]}
    numbers |= dict.fromkeys(("process", "thread", "correlation"), np.ones(len(calls), np.int64))
    called = calls_frame(kinds, names, numbers)
    return placed_case(Capture(spans, works, int(works["duration_ns"].sum()), called))


def covered(spans: list[tuple[int, int]], start: int, end: int) -> set[int]:
    """The nanoseconds of [start, end) that are in any of `spans`."""
    return {ns for a, b in spans for ns in range(max(a, start), min(b, end))}


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 40)), min_size=1, max_size=3),
    st.lists(st.tuples(LAUNCHED, SPAN), max_size=12),
    st.lists(CALLED, max_size=8),
)
def test_whatever_the_intervals_the_terms_add_up_and_none_is_negative(
    steps: list[tuple[int, int]],
    activities: list[tuple[tuple[int, int], tuple[int, int]]],
    calls: list[tuple[tuple[int, int], str, str]],
) -> None:
    """Active and profiler time are counted here ns by ns; so is the time with work in the queue."""
    case = any_capture(steps, activities, calls)
    table = ledger_of(case)
    queued = [(min(launch[1], run[0]), run[0]) for launch, run in activities if launch[0] >= 0]
    for row, step in zip(table.itertuples(), case.ranges.itertuples(), strict=True):
        span = (step.start_ns, step.end_ns)
        active = covered([run for _, run in activities], *span)
        assert row.device_active_ns == len(active)
        if not any(kind != OVERHEAD for _, kind, _ in calls):
            continue
        overhead = covered([s for s, kind, _ in calls if kind == OVERHEAD], *span) - active
        assert row.idle_profiler_ns == len(overhead)
        waiting = covered(queued, *span) - active - overhead
        assert row.idle_queued_ns <= len(waiting), "only synchronization takes from the queue"
        others = row.idle_synchronization_ns + row.idle_queued_ns
        assert len(waiting) <= others, "and nothing else"
        if all(launch[0] >= 0 for launch, _ in activities):
            assert row.idle_unexplained_ns == 0
