from functools import partial
from itertools import pairwise

import torch

from tests.studies.attention.small import SMALL_MODULE
from workflow_src.studies.attention import cores, task
from workflow_src.studies.attention.module import module_task


def qkv() -> list[torch.Tensor]:
    return [torch.randn(2, 1, 12, 8, requires_grad=True) for _ in range(3)]


def out_of_memory(*_, **__) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB")


def test_out_of_memory_comes_out_per_phase(monkeypatch):
    inputs = qkv()
    forward = partial(cores.core_of("naive", 12, "cpu"), *inputs)
    mine = task.Task(forward, inputs, torch.ones(2, 1, 12, 8), "cpu", 0)
    phases = partial(task.measure_phases, mine, 1.0, profiled=False, keeps=True)
    monkeypatch.setattr(task, "time_backward", out_of_memory)
    first, second = phases()
    assert (first["phase"], first["status"]) == ("forward", "ok")
    assert (second["status"], second["reason"]) == ("oom", "CUDA out of memory")
    monkeypatch.setattr(task, "time_within", out_of_memory)
    first, second = phases()
    assert (first["status"], second["status"]) == ("oom", "skipped")


def forwards_of_a_core(monkeypatch, another: bool) -> tuple[task.Row, list[int]]:
    """The row of forward passes of 1000 bytes on a cache of 1000, and whose inputs each took."""
    taken: list[int] = []
    made = iter(range(1, 100))

    def forward(number: int) -> torch.Tensor:
        taken.append(number)
        return torch.ones(1)

    monkeypatch.setattr(task, "l2_bytes", lambda device: 1000)
    more = (lambda: partial(forward, next(made))) if another else None
    mine = task.Task(partial(forward, 0), [], torch.ones(1), "cpu", 0, more)
    return task.time_forward(mine, 1e-6, 1000), taken


def test_forward_passes_take_inputs_in_turn_that_no_cache_holds(monkeypatch):
    row, taken = forwards_of_a_core(monkeypatch, another=True)
    assert row["sets"] == 3 and set(taken) == {0, 1, 2}
    assert all(before != after for before, after in pairwise(taken))
    row, taken = forwards_of_a_core(monkeypatch, another=False)
    assert "sets" not in row and set(taken) == {0}


def test_the_budget_of_a_point_sets_how_many_samples_are_taken():
    mine = module_task(SMALL_MODULE, "naive", 10)
    few, many = (task.time_backward(mine, budget)["samples_ns"] for budget in (1e-6, 1e6))
    assert (len(few), len(many)) == (5, 50)
