"""Measures attention as it is often first written, beside the same with this project's choices."""

import math
from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor, nn

from workflow_src.measure.activities import activities_of
from workflow_src.measure.oom import attempt, free
from workflow_src.measure.progress import said
from workflow_src.measure.timing import time_within
from workflow_src.model.attention import attention_core
from workflow_src.model.ranges import range_
from workflow_src.studies.attention.task import TYPES
from workflow_src.studies.study import Point, Row


class PlainAttention(nn.Module):
    """One head with a projection each for q, k, v and the output, bias, no mask and torch.softmax.

    (batch, T, width) -> (batch, T, width).
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.q, self.k, self.v, self.output = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        """Mix each position with all others."""
        with range_("q"):
            q = self.q(x)
        with range_("k"):
            k = self.k(x)
        with range_("v"):
            v = self.v(x)
        with range_("scores"):
            scores = q @ k.transpose(-2, -1) / math.sqrt(self.width)
        with range_("softmax"):
            weights = torch.softmax(scores, dim=-1)
        with range_("values"):
            mixed = weights @ v
        with range_("output"):
            result: Tensor = self.output(mixed)
        return result


class PackedAttention(nn.Module):
    """One head with packed projections without bias, a causal mask, and softmax written out.

    (batch, T, width) -> (batch, T, width), for T <= context.
    """

    def __init__(self, width: int, context: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.core = attention_core("naive", context)
        self.output = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Mix each position with the ones before it."""
        with range_("qkv"):
            q, k, v = self.qkv(x).unsqueeze(1).chunk(3, dim=-1)
        mixed: Tensor = self.core(q, k, v)
        with range_("output"):
            result: Tensor = self.output(mixed.squeeze(1))
        return result


def shapes(point: Point) -> Iterator[tuple[int, int]]:
    """Batch and context: all contexts at the first batch, then the other batches at the first."""
    first, *batches = point["batches"]
    yield from ((first, context) for context in point["contexts"])
    yield from ((batch, point["contexts"][0]) for batch in batches)


def measure_plain(point: Point) -> list[Row]:
    """A row (sweep "plain") per module and shape: times and activities of a forward pass."""
    torch.manual_seed(0)
    return [
        _about(point, name, batch, context) | _row(point, name, batch, context)
        for batch, context in shapes(point)
        for name in point["implementations"]
    ]


def _about(point: Point, name: str, batch: int, context: int) -> Row:
    about = {"sweep": "plain", "implementation": name, "precision": point["precision"]}
    return about | {
        "batch": batch, "heads": 1, "context": context, "head_size": point["width"],
        "phase": "forward",
    }  # fmt: skip


def forward_pass(point: Point, name: str, batch: int, context: int) -> Callable[[], Tensor]:
    """A forward pass of a module with random parameters on a random input; no gradients."""
    place = {"device": point["device"], "dtype": TYPES[point["precision"]]}
    width = point["width"]
    block = PlainAttention(width) if name == "plain" else PackedAttention(width, context)
    x = torch.randn(batch, context, width, **place)
    return torch.no_grad()(partial(block.to(**place), x))


def _row(point: Point, name: str, batch: int, context: int) -> Row:
    device = point["device"]

    def run() -> Row:
        call = forward_pass(point, name, batch, context)
        times = time_within(call, device, point["budget_ms"])
        return times | {"activities": activities_of(call, device, ranges=True)}

    found = attempt(run, partial(free, device))
    return said(f"{name} module, batch {batch}, context {context}", found)
