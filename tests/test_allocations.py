"""What an allocator, or operators, hand out, and peaks of steps with and without checkpoints."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from workflow_src.common.case import Case
from workflow_src.measure.allocations import (
    LiveTensors,
    allocations_of,
    kept_tensors,
    step_peak,
    storage_bytes,
)
from workflow_src.measure.workload import Workload
from workflow_src.model.flops import (
    nested_recomputed_flops,
    phase_flops,
    recomputed_flops,
)
from workflow_src.model.memory_formulas import peak_bytes
from workflow_src.model.saved_tensors import stream_bytes
from workflow_src.model.step_memory import (
    each,
    halves,
    step_peak_bytes,
    sublayers,
)
from workflow_src.studies.checkpointing.measure import arranged

WIDE = Case("wide", "wide", 32, 128, 4, 2, 16, 32, 32, "fp32", "naive", "adamw", "cpu")
LONG = replace(WIDE, heads=4, context=64, batch=8)
DEEP = replace(WIDE, d_model=16, d_ff=32, layers=5, batch=64, context=16)
LOSS = replace(WIDE, vocabulary=5000, layers=2)
NESTED = -1
"""Instead of a number of sublayers."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@contextmanager
def ready(case: Case) -> Iterator[Workload]:
    """A workload whose optimizer has its state."""
    workload = Workload(case)
    workload.train_step()
    yield workload


@pytest.mark.parametrize("case", [WIDE, LONG, DEEP, LOSS, replace(WIDE, batch=1, context=128)])
def test_a_peak_is_predicted_whatever_is_checkpointed(case: Case) -> None:
    """All of it but the batch, the causal mask and the rotary tables, which no formula counts."""
    with ready(case) as workload:
        buffers = storage_bytes([*workload.model.buffers(), *workload.batch])
        targets = 8 * case.batch * (case.context + 1)
        for number in (0, 1, 3, NESTED):
            with arranged(workload.model, max(number, 0), number == NESTED):
                measured = step_peak(workload, "train_step", 0)["peak_bytes"]
            kept = halves(case.layers) if number == NESTED else each(case.layers, number)
            predicted = step_peak_bytes(case, kept) + buffers
            assert abs(measured - predicted) <= targets + 0.002 * measured, number


def test_a_forward_pass_peaks_as_predicted() -> None:
    with ready(replace(WIDE, vocabulary=2000)) as workload:
        workload.release()
        with LiveTensors(kept_tensors(workload)) as live:
            workload.forward()
        weights = 4 * sum(each.numel() for each in workload.model.parameters())
        predicted = peak_bytes(workload.case, "forward") - weights
    assert live.peak_bytes == pytest.approx(predicted, rel=0.01)


@pytest.mark.parametrize("layers", [1, 5])
def test_flops_are_repeated_as_counted(layers: int) -> None:
    case = replace(DEEP, layers=layers)
    workload = Workload(case)
    for number in (0, 1, 3, 4, NESTED):
        nested = number == NESTED
        with arranged(workload.model, max(number, 0), nested), FlopCounterMode(display=False) as c:
            workload.forward_backward()
        again = nested_recomputed_flops(case) if nested else recomputed_flops(case, number)
        assert c.get_total_flops() == phase_flops(case, "train_step") + again, number


def test_autocast_holds_seven_matrices_of_scores() -> None:
    # s = 4 x 8 x 16 = 512, q = 4 x 2 x 8 x 8 = 512, r = 64, M = 32; 3 x 16 x 16 weights copied.
    case = Case("b", "b", 16, 32, 2, 2, 20, 4, 8, "bf16", "naive", "adamw", "cuda")
    attention, feed_forward = sublayers(case)
    assert attention.worst == 26 * 512 + 20 * 512 + 4 * 32 + 6 * 64 + 2 * 3 * 256
    assert attention.gradients == 4 * (4 * 256 + 16)
    # w = 1024; its weights' gradient in float32 has replaced their copy.
    assert feed_forward.worst == feed_forward.saved + 4 * 1024 + 4 * 512 + 2 * 512
    assert stream_bytes(case) == 4 * 512


PACKAGE = Path("/clone/workflow_src")
MODEL = (str(PACKAGE / "model" / "attention.py"), 48)
MEASURING = (str(PACKAGE / "measure" / "workload.py"), 130)
LIBRARY = (str(Path(torch.__file__).parent / "functional.py"), 7)


def entry(action: str, address: int, size: int = 0, *stack: tuple[str, int]) -> dict[str, Any]:
    """An entry of a device's trace, as torch's snapshot has it."""
    frames = [{"filename": file, "line": line, "name": "f"} for file, line in stack]
    return {"action": action, "addr": address, "size": size, "frames": frames}


def test_a_trace_tells_when_each_allocation_began_and_ended() -> None:
    trace = [
        entry("free_completed", 1),  # of something older
        entry("segment_alloc", 2, 2**21),
        entry("alloc", 2, 100, LIBRARY, MODEL, MEASURING),
        entry("alloc", 3, 200, MEASURING),
        entry("free_requested", 2, 100),
        entry("free_completed", 2, 100),
        entry("alloc", 2, 50),
    ]
    found = [(a.size, a.start, a.end, a.line) for a in allocations_of(trace)]
    assert found == [(100, 1, 3, "model/attention.py:48"), (200, 2, None, ""), (50, 4, None, "")]


def test_operators_results_live_until_nothing_holds_them() -> None:
    known = torch.ones(10)
    with LiveTensors([known]) as live:
        kept = known + 1  # 40 bytes
        known.mul_(2)
        kept.view(2, 5)
        torch.ones(25).sum()  # 100 and 4 bytes, one after another in use
    assert [each.size for each in live.allocations] == [40, 100, 4]
    assert (live.peak_bytes, live.live_bytes) == (144, 40)
    assert [each.end is None for each in live.allocations] == [True, False, False]
    assert storage_bytes([known, known[:5], kept]) == 80
