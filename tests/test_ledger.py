"""The ledger of a step on exports made by hand, and recorded on a GPU."""

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.captures.building import Export, global_id
from tests.examples import costly
from workflow_src.captures.capture import (
    API,
    COLUMNS,
    KERNEL,
    OVERHEAD,
    PAGEABLE_COPY,
    UNKNOWN,
    Capture,
)
from workflow_src.captures.domains import DEFAULT
from workflow_src.placing.case_capture import CaseCapture, ledger, placed_case
from workflow_src.placing.ledger import CAUSES

DATA = Path(__file__).parent / "data" / "nsys"
IDLE = [f"idle_{cause}_ns" for cause in CAUSES]


def ledger_of(case: CaseCapture) -> pd.DataFrame:
    """The ledger of a capture, after checking that its terms add up and none is negative."""
    table = ledger(case)
    assert [*table] == ["phase", "step", "wall_ns", "device_active_ns", "busy_ns", "idle_ns", *IDLE]
    assert (table["device_active_ns"] + table["idle_ns"] == table["wall_ns"]).all()
    if (case.work["launch_ns"] != UNKNOWN).any():
        assert (table[IDLE].sum(axis=1) == table["idle_ns"]).all() and (table[IDLE] >= 0).all(
            axis=None
        )
    return table


def idle(table: pd.DataFrame, step: int = 0) -> dict[str, int]:
    """Idle time of one row by cause, without the causes that are zero."""
    row = {cause: int(table[f"idle_{cause}_ns"].iloc[step]) for cause in CAUSES}
    return {cause: ns for cause, ns in row.items() if ns}


ACTIVITY = re.compile(r"(\w+) (?:(\d+)-(\d+)|\?)(?: (\d+)-(\d+))?")
Made = Callable[..., pd.DataFrame]


def written(export: Export, text: str, start: int = 0, end: int = 1000) -> Export:
    """An export of a step with the activities of a text.

    `kernel 10-20 30-40` is one that a call from 10 to 20 launches, ? if none does, and that runs
    from 30 to 40; `overhead 1-2` the profiler's; any other name is that of a call.
    """
    export.range("forward", start, end)
    for what, *times in ACTIVITY.findall(text):
        first, last, *run = (int(time) if time else -1 for time in times)
        if what == "kernel":
            if first >= 0:
                export.api("cudaLaunchKernel_v7000", first, last, export.calls + 1)
            export.work(None, run[1] - run[0], start=run[0])
        elif what == "overhead":
            about = {"start": first, "end": last, "globalTid": global_id(1, 1)}
            export.insert("PROFILER_OVERHEAD", **about)
        else:
            export.api("cudaDeviceSynchronize_v3020" if what == "wait" else what, first, last)
    return export


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A function from a text to the ledger of its export."""
    return lambda *of: ledger_of(placed_case(written(Export(tmp_path), *of).read()))


CASES = {
    # 0 to 150, 270 to 450, and 500 to 600, when the host asks for the end; then 600 to 1000.
    "a launch-bound step waits for launches and for their latency": (
        "kernel 100-150 170-270; kernel 400-450 460-500; wait 600-610",
        {"launch": 150 + 180 + 100, "queued": 20 + 10, "tail": 400},
    ),
    "what starts before its call returns was available when it started": (
        "kernel 100-200 150-1000", {"launch": 150},
    ),
    "work in the queue is not the host's fault": (
        "kernel 0-10 20-100; kernel 10-20 300-900; wait 30-950",
        {"launch": 10, "queued": 10 + 200, "tail": 100},
    ),
    "work in the queue counts whichever activity starts first": (
        "kernel 0-10 10-100; kernel 20-30 800-1000; kernel 400-410 420-500",
        {"launch": 10, "queued": (420 - 100) + (800 - 500)},
    ),
    "a host far ahead loses the entire gap to a synchronization": (
        "kernel 0-10 10-500; cudaStreamSynchronize_v3020 20-505; kernel 540-550 560-1000",
        {"launch": 10, "synchronization": 60},
    ),
    "a host that is behind loses the duration of a synchronization": (
        "kernel 0-10 10-100; wait 300-304; kernel 540-550 560-1000",
        {"launch": 10 + 446, "synchronization": 4, "queued": 10},
    ),
    # Held from 90 to 120, it would have launched by 520 instead of 550.
    "a host a little ahead loses as long as it was held": (
        "kernel 0-10 10-100; wait 90-120; kernel 540-550 560-1000",
        {"launch": 10 + 420, "synchronization": 30, "queued": 10},
    ),
    "a synchronization before a launch into a full queue costs nothing": (
        "kernel 0-10 10-500; cudaEventSynchronize_v3020 20-200; kernel 210-220 510-1000",
        {"launch": 10, "queued": 10},
    ),
    "overhead of the profiler, whatever else was the cause": (
        """overhead 50-70; kernel 80-100 110-500; wait 200-505; overhead 510-530
        overhead 520-540; kernel 590-600 600-1000""",
        {"launch": 80, "queued": 10, "synchronization": 70, "profiler": 20 + 30},
    ),
    "what waits for a launch outside the capture": (
        "kernel ? 300-400; kernel 440-450 460-1000",
        {"unexplained": 300, "launch": 50, "queued": 10},
    ),
    "a step without device work": (
        "kernel 1000-1010 1010-1020; wait 990-995", {"launch": 990, "tail": 10},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_why_the_device_was_idle(made: Made, text: str, expected: dict[str, int]) -> None:
    assert idle(made(text)) == expected


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("cudaDeviceSynchronize_v3020", True),
        ("cudaMemcpy_v3020", True),
        ("cudaFree_v3020", True),
        ("cudaFreeAsync_v11020", False),
        ("cudaMemcpyAsync_v3020", False),
        ("cudaStreamWaitEvent_v3020", False),
    ],
)
def test_which_calls_wait_for_the_device(made: Made, name: str, waits: bool) -> None:
    step = f"kernel 0-10 10-100; {name} 300-400; kernel 540-550 550-1000"
    cost = {"launch": 360, "synchronization": 100} if waits else {"launch": 460}
    assert idle(made(step)) == cost


def test_activities_count_in_a_step_only_while_it_lasts(made: Made) -> None:
    """One is launched before the step, and one still runs after it."""
    text = "kernel 0-10 10-1200; kernel 1300-1310 1310-1400; kernel 1500-1510 1900-2500"
    table = made(text, 1000, 2000)
    assert table["device_active_ns"].tolist() == [200 + 90 + 100]
    assert idle(table) == {"launch": 110 + 110, "queued": 390}


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
        (KERNEL, "k", start, end, end - start, 1, 0, 0, *launch, 1)
        for launch, (start, end) in activities
    ]
    called = [(kind, name, *span, 1, 1) for span, kind, name in calls]
    tables = {"ranges": ranges, "work": rows, "calls": called}
    return placed_case(
        Capture.of({n: pd.DataFrame(rows, columns=[*COLUMNS[n]]) for n, rows in tables.items()})
    )


def covered(spans: list[tuple[int, int]], start: int, end: int) -> set[int]:
    """The nanoseconds of [start, end) that are in any of `spans`."""
    return {ns for a, b in spans for ns in range(max(a, start), min(b, end))}


@costly
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
        if not any(launch[0] >= 0 for launch, _ in activities):
            continue
        overhead = covered([s for s, kind, _ in calls if kind == OVERHEAD], *span) - active
        assert row.idle_profiler_ns == len(overhead)
        waiting = covered(queued, *span) - active - overhead
        assert row.idle_queued_ns <= len(waiting), "only synchronization takes from the queue"
        others = row.idle_synchronization_ns + row.idle_queued_ns
        assert len(waiting) <= others, "and nothing else"
        if all(launch[0] >= 0 for launch, _ in activities):
            assert row.idle_unexplained_ns == 0
