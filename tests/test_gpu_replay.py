"""Replays on a CUDA device: run with `python -m pytest -m gpu`."""

from dataclasses import replace

import pytest
import torch

from tests.on_gpu import ON_GPU
from workflow_src.common.case import PHASES, Case
from workflow_src.common.units import MIB
from workflow_src.measure.benchmark import measure, measure_all
from workflow_src.measure.cuda_graph import NotCapturableError, graphed, replay, replays, works
from workflow_src.measure.workload import Workload

pytestmark = ON_GPU

LAUNCH_BOUND = Case("t", "t", 768, 3072, 4, 12, 10000, 4, 256, "fp32", "naive", "adamw", "cuda")
"""Its kernels are short, yet long enough for the gaps inside a graph not to matter."""
EAGER = {phase: {"status": "ok", "reason": "", "samples_ns": [1]} for phase in PHASES}


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16", "fp16"])
def test_each_phase_is_replayed_after_the_eager_ones(precision: str) -> None:
    _, rows = measure_all(replace(LAUNCH_BOUND, precision=precision), 2, 5, [])
    for phase in PHASES:
        row, found = rows[phase], rows[phase]["replay"]
        assert row["status"] == "ok"
        if (precision, phase) == ("fp16", "train_step"):
            assert found["status"] == "not_capturable", "a scaler reads back if all is finite"
            continue
        assert (found["status"], found["reason"]) == ("ok", "")
        assert len(found["samples_ns"]) == 5
    assert "replay" not in measure(LAUNCH_BOUND, 1, 1)["forward"]


def test_a_replay_computes_the_gradients_of_the_eager_pass() -> None:
    workload = Workload(LAUNCH_BOUND)
    weights = list(workload.model.parameters())
    workload.forward_backward()
    eager = [weight.grad.clone() for weight in weights if weight.grad is not None]
    step = graphed(workload.forward_backward)
    for weight in weights:
        assert weight.grad is not None
        weight.grad.zero_()
    step()
    torch.cuda.synchronize()
    for weight, expected in zip(weights, eager, strict=True):
        torch.testing.assert_close(weight.grad, expected, rtol=1e-3, atol=1e-5)


def test_what_reads_a_value_back_cant_be_captured_and_later_work_runs() -> None:
    workload = Workload(LAUNCH_BOUND)
    before = torch.cuda.current_stream()
    x = torch.ones(4, device="cuda")
    with pytest.raises(NotCapturableError, match="captur") as raised:
        graphed(lambda: (x + 1).sum().item())
    assert "\n" not in str(raised.value)
    assert works() and torch.cuda.current_stream() == before
    torch.randn(1, device="cuda")
    workload.train_step()
    assert len(replay(workload, "forward_backward", 1, 3)["samples_ns"]) == 3


def test_a_graph_that_doesnt_fit_is_out_of_memory() -> None:
    workload = Workload(LAUNCH_BOUND)
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    held = torch.cuda.memory_reserved() / total
    torch.cuda.set_per_process_memory_fraction(min(1.0, held + 8 * MIB / total))
    try:
        found = dict(replays(workload, EAGER, 1, 2))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert [found[phase]["status"] for phase in PHASES] == ["oom", "skipped", "skipped"]
    assert works()
