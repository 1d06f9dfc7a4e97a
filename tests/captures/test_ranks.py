"""Processes of one capture: how long they wait for each other, and which is the slowest."""

import pandas as pd
import pytest

from tests.captures.building import Export, as_capture, notes
from workflow_src.capture_report.contents import ranks

REDUCE, GATHER = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_AllGather_RING_LL"
SENT = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096>)"
SEND = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096>)"


@pytest.fixture
def export(export: Export) -> Export:
    for process in (1, 2, 3):
        export.range("step", 0, 1000, process=process)
    return export


def kernel(
    export: Export, process: int, start: int, end: int, name: str = REDUCE, stream: int = 17
) -> None:
    export.work(
        start - 5, end - start, process=process, device=process, stream=stream,
        demangledName=export.string(name),
    )  # fmt: skip


def waiting(tables: dict[str, pd.DataFrame]) -> dict[int, float]:
    """What the ranges `step` waited (ns), by process; -1 if it isn't known."""
    rows = tables["paths"].set_index("process")["wait_ms"] * 1e6
    return {int(process): round(ns) for process, ns in rows.fillna(-1).items()}


def test_what_is_longer_than_the_shortest_kernel_of_a_call_is_waiting(export: Export) -> None:
    for process, starts in ((1, (100, 400)), (2, (150, 380)), (3, (160, 390))):
        kernel(export, process, starts[0], 200)
        kernel(export, process, starts[1], 500, GATHER)
    tables = export.tables()
    assert waiting(tables) == {1: 60, 2: 10 + 20, 3: 10} and notes(tables) == {}
    # Without waiting, all have worked 40 + 100 ns.
    row = ranks(as_capture(tables)).iloc[0]
    assert [row["path"], row["slowest"]] == ["step", "1"]
    assert [str(row[name]) for name in ("processes", "times")] == ["3", "1.000 ×"]
    assert float(row["median"]) == pytest.approx(140e-6)
    assert float(row["waits"]) == pytest.approx(60e-6)


def test_the_sender_of_a_broadcast_may_end_before_another_process_begins(export: Export) -> None:
    for process, start, end in ((1, 100, 110), (2, 130, 145), (3, 150, 162)):
        kernel(export, process, start, end, SENT)
        kernel(export, process, 200 + process, 300)
    assert waiting(export.tables()) == {1: 2, 2: 5 + 1, 3: 2}


def test_what_ran_before_all_windows_were_open_is_in_no_call(export: Export) -> None:
    gone = {"process": 1, "device": 1, "stream": 17, "demangledName": export.string(REDUCE)}
    export.work(None, 40, start=50, **gone)
    for process in (1, 2, 3):
        kernel(export, process, 300_000 + process, 300_100)
        kernel(export, process, 600_000 + process, 600_100)
    export.sql("UPDATE NVTX_EVENTS SET end = 1000000")
    tables = export.tables()
    assert waiting(tables) == {1: 2 * 2, 2: 2 * 1, 3: 0} and notes(tables)["unmatched"] == 1


def test_each_group_of_processes_waits_for_its_own(export: Export) -> None:
    """As in tensor parallelism, 1 with 2 and 3 with 4, and in data parallelism across them."""
    export.range("step", 0, 1000, process=4)
    for process, tensor, data in ((1, 110, 340), (2, 130, 350), (3, 600, 320), (4, 640, 390)):
        kernel(export, process, tensor, 200 if process < 3 else 700, stream=17)
        kernel(export, process, data, 400 if process % 2 else 450, stream=21)
    tables = export.tables()
    assert waiting(tables) == {1: 20 + 0, 2: 0 + 40, 3: 40 + 20, 4: 0} and notes(tables) == {}


@pytest.mark.parametrize(
    "others",
    [
        [(100, 200), (300, 400), (500, 600)],
        [(100, 200)],
        [(300, 400), (100, 120)],
        [(100, 200), (300, 550)],
    ],
    ids=["one more", "one less", "another order", "ends apart"],
)
def test_kernels_that_do_not_match_are_told_and_nothing_is_claimed(
    export: Export, others: list[tuple[int, int]]
) -> None:
    kernel(export, 1, 100, 200)
    kernel(export, 1, 300, 400, GATHER)
    for place, (start, end) in enumerate(others):
        kernel(export, 2, start, end, (REDUCE, GATHER, REDUCE)[place])
    tables = export.tables()
    assert set(waiting(tables).values()) == {-1}
    assert notes(tables) == {"unmatched": 2 + len(others)}
    row = ranks(as_capture(tables)).iloc[0]
    assert pd.isna(row["waits"]) and float(row["processes"]) == 3


def test_what_two_of_several_processes_send_is_no_call_of_all(export: Export) -> None:
    for process in (1, 2):
        kernel(export, process, 100 * process, 300, SEND)
    tables = export.tables()
    assert set(waiting(tables).values()) == {-1} and notes(tables) == {}


def test_the_slowest_process_is_that_of_the_most_work(export: Export) -> None:
    for process in (1, 2, 3):
        kernel(export, process, 100, 100 + 50 * process, "gemm")
        kernel(export, process, 400 - 100 // process, 400)
    row = ranks(as_capture(export.tables())).iloc[0]
    assert row["slowest"] == "3"
    assert float(row["max"]) == pytest.approx((150 + 33) * 1e-6)
    assert float(row["median"]) == pytest.approx((100 + 33) * 1e-6)
