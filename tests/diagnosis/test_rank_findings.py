"""What is found of ranks that communicate, in steps made by hand, and what a step saves."""

from pathlib import Path
from typing import Any

import pytest

from tests.captures.building import Export
from tests.diagnosis.device_steps import Kernel, Savings, found, savings, savings_of, subject
from workflow_src.diagnosis.mechanisms.ranks import communication
from workflow_src.diagnosis.words import headline

US = 1000
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)"
GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096>)"
STEP, LATE = 600, 300


def call(export: Export, process: int, name: str, start: int, end: int) -> None:
    export.calls += 1
    export.api(name, start * US, end * US, export.calls, process, process)


def launch(
    export: Export, process: int, at: int, name: str, start: int, end: int, stream: int = 7
) -> None:
    call(export, process, "cudaLaunchKernel_v7000", at, at + 1)
    of = {"process": process, "device": process, "stream": stream, "number": export.calls}
    named: dict[str, Any] = of | {"demangledName": export.string(name)}
    export.work(None, (end - start) * US, start=start * US, **named)


def rank(export: Export, process: int, late: int, pace: int = 5) -> None:
    """Three steps (us): a product of 50, a reduction that ends at 500, and what needs it.

    The host is `late` in the range data, and calls every `pace`.
    """
    for begin in range(0, 3 * STEP, STEP):
        export.range("step", begin * US, (begin + 590) * US, process, process)
        export.range("data", begin * US, (begin + late + 1) * US, process, process)
        at = begin + late + 5
        launch(export, process, at, "gemm", at + 2, at + 52)
        call(export, process, "cudaStreamWaitEvent_v3020", at + 2, at + 3)
        reduced = max(at + 52, at + pace + 2)
        launch(export, process, at + pace, REDUCE, reduced, begin + 500, stream=9)
        call(export, process, "cudaStreamWaitEvent_v3020", at + 2 * pace, at + 2 * pace + 1)
        launch(export, process, at + 3 * pace, "fused_adam", begin + 501, begin + 550)
        call(export, process, "cudaDeviceSynchronize_v3020", at + 4 * pace, begin + 552)


def ranks(folder: Path, late: int, pace: int = 5) -> Export:
    """Two ranks, of which the second is late, or slow."""
    export = Export(folder)
    rank(export, 1, 5)
    rank(export, 2, 5 + late, pace)
    return export


def test_the_rank_that_waits_names_what_the_late_one_does(tmp_path: Path) -> None:
    export = ranks(tmp_path, LATE)
    waits = subject(export)
    assert savings_of("late_rank", waits) == {"step/data": LATE}
    assert savings_of("late_rank", subject(export, 2)) == {}
    (late,) = found("late_rank", waits)
    assert headline(late, 0.6).startswith(
        "This rank waits 0.30 ms a step, in 1 collectives, for process 2, which takes 0.34 ms a "
        "step longer in `step/data`"
    )


def test_no_rank_is_late_where_none_waits_or_its_whole_host_is_slow(tmp_path: Path) -> None:
    assert savings_of("late_rank", subject(ranks(tmp_path, 0))) == {}
    assert savings_of("late_rank", subject(ranks(tmp_path, 0, pace=90))) == {}


def test_only_the_rank_that_waits_least_could_hide_its_communication(tmp_path: Path) -> None:
    export = ranks(tmp_path, LATE)
    waits, late = subject(export), subject(export, 2)
    exposed_us = 500 - (5 + LATE) - 5 - 2 - 50
    # It can hide no more than there is work to hide it behind: a product and an update.
    assert savings_of("exposed_communication", late) == pytest.approx({"step": 50 + 49}, abs=1)
    assert savings_of("exposed_communication", waits) == {}
    table = communication(waits)
    assert table["wait_ns"].tolist() == [LATE * US] * 3
    assert table["exposed_ns"].tolist() == pytest.approx([exposed_us * US] * 3)


PASSES: list[Kernel] = [("forward", "gemm", 50), ("backward", "gemm", 50)]
BUCKET: list[Kernel] = [("backward", "gemm", 50), ("backward/bucket", REDUCE, 50)]
DIVIDED: list[Kernel] = [PASSES[0], ("forward", REDUCE, 50), PASSES[1], ("backward", REDUCE, 50)]


@pytest.mark.parametrize(
    ("kernels", "saved"),
    [
        # Two reductions of 100 us before the last one, in two passes of three.
        pytest.param([*PASSES, ("backward", REDUCE, 100)] * 3, {"step/backward": 200}, id="each"),
        pytest.param([*PASSES, ("backward", REDUCE, 100)], {}, id="one micro batch"),
        # What isn't a reduction isn't of gradients.
        pytest.param([*PASSES, ("backward", GATHER, 100)] * 3, {}, id="gathered"),
        pytest.param(DIVIDED * 3, {}, id="a model that is divided among ranks"),
        pytest.param([PASSES[0], *BUCKET * 2], {}, id="buckets of one backward pass"),
        pytest.param([PASSES[0], *BUCKET * 2] * 2, {"step/backward/bucket": 100}, id="of two"),
        pytest.param(
            [*PASSES, ("backward", REDUCE, 100), ("update", "fused_adam", 9)] * 2, {},
            id="a step of two updates",
        ),
    ],
)  # fmt: skip
def test_gradients_are_reduced_once_a_step(
    tmp_path: Path, kernels: list[Kernel], saved: Savings
) -> None:
    assert savings(tmp_path, "reduced_in_each_micro_batch", kernels) == saved
