"""Marks where a step is, by how many allocations came before."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from torch import Tensor, nn

from workflow_src.model.ranges import emitting
from workflow_src.model.transformer import TransformerLM

Mark = tuple[int, int, str]
"""Events so far, the clock (ns), and the path of ranges that a step is in from then on."""

SUBLAYERS = ("attention_norm", "attention", "feed_forward_norm", "feed_forward")
NORMS = ("attention_norm", "feed_forward_norm")


class Marks:
    """Marks of what runs inside `around`; `events` counts allocations and their ends so far.

    A step is a range around all others. A forward pass is in the model's ranges, whose blocks are
    numbered: step 1/forward/block 3/attention. A backward pass is in the part whose output's
    gradient it has just made: step 1/backward/block 3/attention.
    """

    def __init__(self, events: Callable[[], int]) -> None:
        self.found: list[Mark] = []
        self._events = events
        self._path: list[str] = []
        self._blocks = 0

    def add(self, path: str) -> None:
        """Mark that a step is at `path` from now on."""
        self.found.append((self._events(), time.perf_counter_ns(), path))

    @contextmanager
    def around(self, model: nn.Module) -> Iterator[None]:
        """Mark the ranges of what runs inside, and the parts of the model in a backward pass."""
        assert isinstance(model, TransformerLM)
        hooks = [
            module.register_forward_hook(partial(self._follow, name))
            for name, module in _parts(model)
        ]
        try:
            with emitting(self._range):
                yield
        finally:
            for hook in hooks:
                hook.remove()

    def _range(self, name: str) -> AbstractContextManager[object]:
        if name == "block":
            name, self._blocks = f"block {self._blocks}", self._blocks + 1
        if name in ("forward", "embedding"):
            self._blocks = 0
        return self._inside(name)

    @contextmanager
    def _inside(self, name: str) -> Iterator[None]:
        self._path.append(name)
        self.add("/".join(self._path))
        try:
            yield
        finally:
            self._path.pop()
            self.add("/".join(self._path))

    def _follow(self, name: str, module: nn.Module, given: object, out: Tensor) -> None:
        if out.requires_grad:
            out.register_hook(lambda gradient: self.add(f"{self._path[0]}/backward/{name}"))


def _parts(model: TransformerLM) -> Iterator[tuple[str, nn.Module]]:
    """The parts of a model that a backward pass is told to be in, by name."""
    yield from (("embedding", model.embedding), ("norm", model.norm), ("head", model.head))
    for number, block in enumerate(model.blocks):
        for name in SUBLAYERS:
            part = "norm" if name in NORMS else name
            yield f"block {number}/{part}", getattr(block, name)
