from functools import partial

import pytest
import torch

from tests.studies.attention.small import SMALL_CORES, SMALL_MODULE, derived
from workflow_src.studies import refusals
from workflow_src.studies.attention import cores
from workflow_src.studies.attention.module import measure_module


def qkv() -> list[torch.Tensor]:
    return [torch.randn(2, 1, 12, 8, requires_grad=True) for _ in range(3)]


@pytest.mark.parametrize("name", ["fused_softmax", "sdpa_math", "sdpa_flash"])
def test_implementations_agree(name):
    torch.manual_seed(0)
    inputs = qkv()
    ours = cores.core_of(name, 12, "cpu")(*inputs)
    naive = cores.core_of("naive", 12, "cpu")(*inputs)
    torch.testing.assert_close(ours, naive)


def test_a_backend_that_is_not_there_refuses_with_a_reason():
    call = partial(cores.core_of("sdpa_cudnn", 12, "cpu"), *qkv())
    assert refusals.refusal(call)
    assert not refusals.refusal(partial(cores.core_of("naive", 12, "cpu"), *qkv()))


def out_of_memory(*_, **__) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB")


def test_another_forward_pass_of_a_core_has_inputs_of_its_own():
    mine = cores.core_task(SMALL_CORES, "naive", 16, 8)
    assert mine.another is not None
    assert not torch.equal(mine.forward(), mine.another()())
    assert torch.equal(mine.forward(), mine.forward())


def test_inputs_that_do_not_fit_are_out_of_memory(monkeypatch):
    """The rows are those of a forward pass that ran out: backward needs more and is skipped."""
    monkeypatch.setattr(torch, "randn", out_of_memory)
    expected = [
        ("forward", "oom", "CUDA out of memory"),
        ("backward", "skipped", "needs more memory than forward, which ran out"),
    ]
    rows = cores.measure_core(SMALL_CORES, "naive", 64, 16)
    assert [(r["phase"], r["status"], r["reason"]) for r in derived(rows)] == expected
    rows = measure_module(SMALL_MODULE)
    assert [(r["phase"], r["status"], r["reason"]) for r in derived(rows)] == 2 * expected
    assert {r["sweep"] for r in rows} == {"module"}
