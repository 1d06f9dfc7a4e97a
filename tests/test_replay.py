"""Replays of a benchmark: in which order, with which status, and what tables make of them.

No GPU is needed: capturing is replaced. tests/test_gpu_replay.py captures.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.test_processes import phase
from workflow_src.common.case import PHASES, Case
from workflow_src.measure import cuda_graph, processes
from workflow_src.measure.cuda_graph import NotCapturableError
from workflow_src.measure.processes import merged, merged_phase
from workflow_src.measure.rows import Row
from workflow_src.measure.workload import Workload
from workflow_src.tables.measured import environment, timings

CASE = Case("t", "tiny", 16, 32, 2, 2, 50, 2, 8, "fp32", "naive", "adamw", "cpu")
MS = 10**6
RAN: Row = {"status": "ok", "reason": "", "samples_ns": [MS]}
EAGER: dict[str, Row] = dict.fromkeys(PHASES, RAN)


def raising(error: Exception) -> Callable[..., Any]:
    def raise_(*given: object) -> None:
        raise error

    return raise_


REASON = "CUDA error: operation not permitted when stream is capturing"
REFUSED = {"status": "not_capturable", "reason": REASON}
FAILED = {"status": "failed", "reason": "CUDA error: CUBLAS_STATUS_ALLOC_FAILED"}
OOM = {"status": "oom", "reason": "CUDA out of memory"}
refuses = raising(NotCapturableError(REASON))
full = raising(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB. GPU 0 has ..."))
fails = raising(RuntimeError(f"{FAILED['reason']}. Advice\nMore advice"))
broken = raising(RuntimeError("CUDA error: an illegal memory access was encountered"))


@pytest.fixture
def capturing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets what capturing does, and whether CUDA works at each replay."""

    def set_(capture: Callable[[Any], Any], *working: bool) -> None:
        answers = iter(working or [True] * len(PHASES))
        monkeypatch.setattr(cuda_graph, "graphed", capture)
        monkeypatch.setattr(cuda_graph, "works", lambda: next(answers))

    return set_


def replayed(eager: dict[str, Row] = EAGER) -> dict[str, Row]:
    return dict(cuda_graph.replays(Workload(CASE), eager, 2, 3))


def test_each_phase_that_fitted_is_replayed_and_all_samples_kept(
    capturing: Callable[..., None],
) -> None:
    capturing(lambda call: call)
    found = replayed()
    assert list(found) == list(PHASES)
    for row in found.values():
        assert (row["status"], row["reason"]) == ("ok", "")
        assert len(row["samples_ns"]) == 3
    capturing(lambda call: call)
    assert list(replayed(EAGER | {PHASES[1]: OOM})) == [PHASES[0], PHASES[2]]


@pytest.mark.parametrize(
    ("device_ms", "counts"),
    [(1, (5, 10)), (90, (5, 10)), (150, (5, 6)), (400, (2, 5)), (2000, (1, 5))],
)
def test_a_long_phase_is_replayed_less_often(device_ms: int, counts: tuple[int, int]) -> None:
    row = RAN | {"samples_ns": [device_ms * MS] * 9 + [5000 * MS]}
    assert cuda_graph.enough(row, 5, 10) == counts
    assert cuda_graph.enough(row, 0, 3) == (0, 3)


@pytest.mark.parametrize(
    ("capture", "working", "expected"),
    [
        (refuses, [True] * 3, [REFUSED] * 3),
        (refuses, [True, False, False], [REFUSED, {"reason": cuda_graph.BROKEN}]),
        (full, [True] * 3, [OOM, {"status": "skipped"}]),
        (fails, [True] * 6, [FAILED] * 3),
        (lambda call: fails, [True] * 6, [FAILED] * 3),
    ],
    ids=["not captured", "CUDA is broken then", "too large", "in the warm-up", "while replaying"],
)
def test_what_cannot_be_replayed_is_a_result_with_its_reason(
    capturing: Callable[..., None], capture: Any, working: list[bool], expected: list[Row]
) -> None:
    """An error costs no samples where CUDA still works."""
    capturing(capture, *working)
    for row, said in zip(replayed().values(), expected, strict=False):
        assert said.items() <= row.items()


def test_an_error_of_a_replay_that_leaves_the_device_broken_fails_the_job(
    capturing: Callable[..., None],
) -> None:
    capturing(broken, True, False)
    with pytest.raises(RuntimeError, match="illegal"):
        replayed()


def test_gradients_and_optimizer_state_are_released_before_a_replay(
    capturing: Callable[..., None],
) -> None:
    workload = Workload(CASE)
    workload.train_step()
    held: list[bool] = []

    def capture(call: Callable[[], None]) -> Callable[[], None]:
        held.append(bool(workload.optimizer.state))
        held.append(any(p.grad is not None for p in workload.model.parameters()))
        return call

    capturing(capture)
    dict(cuda_graph.replays(workload, EAGER, 1, 1))
    assert held == [False] * 6


@pytest.mark.parametrize("optimizer", ["adamw", "foreach"])
def test_steps_are_counted_on_the_device_in_a_replay_and_nowhere_else(
    capturing: Callable[..., None], optimizer: str
) -> None:
    workload = Workload(replace(CASE, optimizer=optimizer))
    group, found = workload.optimizer.param_groups[0], []

    def capture(call: Callable[[], None]) -> Callable[[], None]:
        found.append(group.get("capturable"))
        return lambda: None

    capturing(capture)
    before = dict(group)
    dict(cuda_graph.replays(workload, EAGER, 1, 1))
    assert found == [None if optimizer == "adamw" else True] * 3
    assert group == before


def test_what_was_timed_is_kept_where_cuda_no_longer_works_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    speeds = iter([{"host_launch_us": 2.0}])

    def host_speed(device: str) -> dict[str, float]:
        for speed in speeds:
            return speed
        raise RuntimeError("CUDA error: operation failed due to a previous error during capture")

    known = {"host_speed": host_speed, "hold": lambda *_: nullcontext(["cpu"])}
    for name, simulated in known.items():
        monkeypatch.setattr(processes, name, simulated)
    monkeypatch.setattr(processes, "limited_memory", lambda kind, limit: nullcontext())
    found = processes.measured_alone("c", {"device": "cuda"}, "phases", lambda: {"forward": EAGER})
    assert found["phases"] == {"forward": EAGER} and found["before"]["host_launch_us"] == 2.0
    assert "host_launch_us" not in found["after"]
    row = environment(found, "torch 2").iloc[0]
    assert row["host_launch_us_before"] == 2.0
    assert merged([found | {"phases": {}}] * 2)["after"] == found["after"]


def with_replay(*samples: int, **replay_row: Any) -> dict[str, Any]:
    row = {"status": "ok", "reason": "", "samples_ns": []}
    return phase(*samples, replay=row | replay_row)


def test_replays_of_several_processes_keep_their_process() -> None:
    rows = [with_replay(10, samples_ns=[1, 2]), with_replay(20, samples_ns=[3])]
    found = merged_phase(rows)["replay"]
    assert (found["samples_ns"], found["process"]) == ([1, 2, 3], [0, 0, 1])
    rows[1]["replay"] = {"status": "oom", "reason": "CUDA out of memory"}
    found = merged_phase(rows)
    said = "CUDA out of memory (in 1 of 2 processes)"
    assert found["samples_ns"] == [10, 20]
    assert found["replay"] == {"status": "oom", "reason": said}


def test_known_samples_of_a_replay_give_exact_numbers() -> None:
    ok = with_replay(9 * MS, samples_ns=[1 * MS, 2 * MS, 3 * MS, 4 * MS, 10 * MS])
    failed = with_replay(9 * MS, status="not_capturable", reason="why")
    table = timings({"phases": {"forward": ok, "forward_backward": failed, "train_step": phase(1)}})
    first, second, third = table.to_dict("records")
    assert first["replay_status"] == "ok"
    assert first["replayed_median_ms"] == 3.0 and first["median_ms"] == 9.0
    assert (first["replayed_p20_ms"], first["replayed_p80_ms"]) == pytest.approx((1.8, 5.2))
    assert (second["replay_status"], second["replay_reason"]) == ("not_capturable", "why")
    assert second["replayed_median_ms"] != second["replayed_median_ms"], "empty"
    assert third["replay_status"] != third["replay_status"], "empty"
