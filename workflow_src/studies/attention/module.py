"""Measures a small module round attention, and names its kernels by what launched them."""

from collections.abc import Iterator
from functools import partial

import pandas as pd
import torch
from torch import Tensor, nn

from workflow_src.common.summary import NS_PER_MS
from workflow_src.model.attention import attention_core
from workflow_src.studies.attention.measure import TYPES, Task, computing, measure_phases
from workflow_src.studies.memory import allocated_before
from workflow_src.studies.study import Point, Row
from workflow_src.studies.timing import activities_of

VERSIONS = ("naive", "sdpa")


class SingleHeadBlock(nn.Module):
    """One attention head with LayerNorm before and a residual connection around it.

    (batch, T, width) -> (batch, T, width).
    """

    def __init__(self, width: int, core: nn.Module) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.core = core
        self.output = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Mix each position with the ones before it."""
        q, k, v = self.qkv(self.norm(x)).unsqueeze(1).chunk(3, dim=-1)
        mixed: Tensor = self.output(self.core(q, k, v).squeeze(1))
        return x + mixed


def versions(point: Point) -> Iterator[Row]:
    """What the rows of the module say of it: its context and attention, before and after SDPA."""
    about = {"precision": point["precision"], "batch": point["batch"], "heads": 1}
    about |= {"head_size": point["width"]}
    for context in point["contexts"]:
        for implementation in VERSIONS:
            yield about | {"implementation": implementation, "context": context}


def measure_module(point: Point) -> list[Row]:
    """The rows of both phases of the module, before and after SDPA, and of its kernels."""
    torch.manual_seed(0)
    return [
        about | row
        for about in versions(point)
        for row in _module_rows(point, about["implementation"], about["context"])
    ]


def module_task(point: Point, implementation: str, context: int) -> Task:
    """The module with random parameters and a random input of (batch, context, width)."""
    device, width = point["device"], point["width"]
    place = {"device": device, "dtype": TYPES[point["precision"]]}
    before = allocated_before(**place)
    block = SingleHeadBlock(width, attention_core(implementation, context)).to(**place)
    x = torch.randn(point["batch"], context, width, **place)
    leaves, gradient = list(block.parameters()), torch.randn_like(x)
    return Task(partial(block, x), leaves, gradient, device, before)


def _module_rows(point: Point, implementation: str, context: int) -> list[Row]:
    task = module_task(point, implementation, context)
    phases = measure_phases(task, profiled=True, keeps=True)
    rows = [{"sweep": "module"} | row for row in phases]
    if all(row["status"] == "ok" for row in phases):
        found = kernel_rows(activities_of(task.forward_and_backward, task.device))
        rows += [{"sweep": "kernel"} | row for row in found]
    return rows


def kernel_rows(activities: pd.DataFrame) -> list[Row]:
    """A row per kernel and operator that launched it: calls, busy time, share of all of it."""
    computed = computing(activities).rename(columns={"short_name": "kernel"})
    grouped = computed.groupby(["operator", "kernel", "family"])["duration_ns"]
    return shared(grouped.agg(calls="count", busy_ns="sum").reset_index())


def shared(kernels: pd.DataFrame) -> list[Row]:
    """A row for each of `kernels` (calls, busy_ns, names) with its share of all, largest first."""
    ranked = kernels.sort_values("busy_ns", ascending=False)
    total = int(ranked["busy_ns"].sum())
    busy_ns = ranked.pop("busy_ns")
    found = ranked.assign(status="ok", busy_ms=busy_ns / NS_PER_MS, share=busy_ns / total)
    return [{str(key): value for key, value in row.items()} for row in found.to_dict("records")]
