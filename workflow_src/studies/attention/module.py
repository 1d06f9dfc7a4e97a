"""Measures a small module around attention, before and after a switch to PyTorch's operator."""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn

from workflow_src.measure.activities import activities_of
from workflow_src.measure.memory import allocated_before
from workflow_src.measure.progress import said
from workflow_src.model.attention import attention_core
from workflow_src.studies.attention.task import TYPES, Task, build, measure_phases, not_built
from workflow_src.studies.study import Point, Row


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
        """Mix each position with the preceding ones."""
        q, k, v = self.qkv(self.norm(x)).unsqueeze(1).chunk(3, dim=-1)
        mixed: Tensor = self.output(self.core(q, k, v).squeeze(1))
        return x + mixed


def versions(point: Point) -> Iterator[Row]:
    """The columns that describe each version of the module, such as its context and attention."""
    about = {"precision": point["precision"], "batch": point["batch"], "heads": 1}
    about |= {"head_size": point["width"]}
    for context in point["contexts"]:
        for implementation in point["implementations"]:
            yield about | {"implementation": implementation, "context": context}


def measure_module(point: Point) -> list[Row]:
    """Per version: rows of both phases (sweep "module"), and one with its activities ("kernel").

    The activities are those of one forward pass and its backward pass.
    """
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
    task, built = build(partial(module_task, point, implementation, context), point["device"])
    phases = (
        measure_phases(task, point["budget_ms"], profiled=True, keeps=True)
        if task
        else not_built(built)
    )
    name = f"module with {implementation}, context {context}"
    rows: list[Row] = [{"sweep": "module"} | said(f"{name}, {row['phase']}", row) for row in phases]
    if task and all(row["status"] == "ok" for row in phases):
        about = {"sweep": "kernel", "status": "ok", "reason": ""}
        rows += [about | {"activities": activities_of(task.forward_and_backward, task.device)}]
    return rows
