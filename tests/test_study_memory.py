import weakref

import pytest
import torch

from workflow_src.common.devices import cuda_devices
from workflow_src.measure import memory
from workflow_src.measure.oom import free
from workflow_src.studies.attention.cores import measure_core


def test_kept_memory_counts_each_tensor_once():
    x = torch.randn(256, 1024, requires_grad=True)
    assert memory.kept_mib(lambda: x * x) == 1.0


def test_asking_what_is_kept_keeps_nothing():
    """What a measurement leaves behind would count in the peaks of all that follow."""
    scores = torch.randn(12, 12, requires_grad=True)
    outputs = []

    def forward():
        # Softmax keeps its own output: tied to its graph by a hook, it would never be freed.
        outputs.append(weakref.ref(probabilities := torch.softmax(scores, dim=-1)))
        return probabilities

    assert memory.kept_mib(forward) > 0
    assert outputs[0]() is None


def test_a_peak_leaves_out_what_was_there_before(monkeypatch):
    for name in ("synchronize", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda: None)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 100 * 2**20)
    assert memory.peak_mib(lambda: None, "cuda", 98 * 2**20) == 2.0
    assert memory.peak_mib(lambda: None, "cpu", 0) is None


@pytest.mark.gpu
@pytest.mark.skipif(not cuda_devices(), reason="needs a CUDA device")
def test_a_core_leaves_no_memory_behind_it():
    point = {"device": "cuda", "precision": "bf16", "batch": 8, "heads": 1, "compile": False}
    point |= {"profiled_contexts": [2048], "profiled_head_size": 64, "budget_ms": 25.0}
    free("cuda")
    before = torch.cuda.memory_allocated()
    found = []
    for implementation in ("naive", "fused_softmax", "sdpa_math", "sdpa_flash"):
        for _ in range(2):
            measure_core(point, implementation, 64, 2048)
            free("cuda")
            found.append((torch.cuda.memory_allocated() - before) / 2**20)
    # cuBLAS keeps its workspaces; the written-out core's tensors are 200 MiB.
    assert max(found) < 150, found


@pytest.mark.gpu
@pytest.mark.skipif(not cuda_devices(), reason="needs a CUDA device")
@pytest.mark.parametrize("implementation", ["naive", "sdpa_math", "sdpa_flash"])
def test_a_peak_holds_no_workspaces(implementation):
    """cuBLAS takes tens of MiB at a thread's first product; these tensors are below 4 MiB."""
    point = {"device": "cuda", "precision": "bf16", "batch": 8, "heads": 1, "compile": False}
    point |= {"profiled_contexts": [], "profiled_head_size": 64, "budget_ms": 25.0}
    forward, backward = measure_core(point, implementation, 64, 128)
    assert forward["kept_mib"] <= forward["peak_mib"] <= backward["peak_mib"] < 4
