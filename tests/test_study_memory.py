import weakref

import pytest
import torch

from workflow_src.common.devices import cuda_devices
from workflow_src.measure import memory
from workflow_src.measure.allocations import kept_mib
from workflow_src.measure.rows import free
from workflow_src.studies.attention.implementations import Passes, Series


def test_kept_memory_counts_each_tensor_once():
    x = torch.randn(256, 1024, requires_grad=True)
    assert kept_mib(lambda: x * x) == 1.0


def test_asking_what_is_kept_keeps_nothing():
    """What a measurement leaves behind would count in the peaks of all that follow."""
    scores = torch.randn(12, 12, requires_grad=True)
    outputs = []

    def forward():
        # Softmax keeps its own output: tied to its graph by a hook, it would never be freed.
        outputs.append(weakref.ref(probabilities := torch.softmax(scores, dim=-1)))
        return probabilities

    assert kept_mib(forward) > 0
    assert outputs[0]() is None


def test_a_peak_leaves_out_what_was_there_before(monkeypatch):
    for name in ("synchronize", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda: None)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 100 * 2**20)
    assert memory.peak_mib(lambda: None, "cuda", 98 * 2**20) == 2.0
    assert memory.peak_mib(lambda: None, "cpu", 0) is None


def core(implementation: str, context: int) -> Passes:
    return Passes(Series(implementation, "bf16", 64, {"device": "cuda", "batch": 8}), context)


@pytest.mark.gpu
@pytest.mark.skipif(not cuda_devices(), reason="needs a CUDA device")
def test_a_core_leaves_no_memory_behind_it():
    free("cuda")
    before = torch.cuda.memory_allocated()
    found = []
    for implementation in ("naive", "fused_softmax", "sdpa_math", "sdpa_flash"):
        for _ in range(2):
            core(implementation, 2048).forward_backward()
            free("cuda")
            found.append((torch.cuda.memory_allocated() - before) / 2**20)
    # cuBLAS keeps its workspaces; the written-out core's tensors are 200 MiB.
    assert max(found) < 150, found


@pytest.mark.gpu
@pytest.mark.skipif(not cuda_devices(), reason="needs a CUDA device")
@pytest.mark.parametrize("implementation", ["naive", "sdpa_math", "sdpa_flash"])
def test_a_peak_holds_no_workspaces(implementation):
    """cuBLAS takes tens of MiB at a thread's first product; these tensors are below 4 MiB."""
    passes = core(implementation, 128)
    kept = kept_mib(passes.forward)
    calls = passes.forward, passes.forward_backward
    forward, both = (memory.peak_mib(call, "cuda", passes.before_bytes) for call in calls)
    assert kept <= forward <= both < 4
