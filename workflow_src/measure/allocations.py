"""What a CUDA device's allocator hands out and takes back, one entry each, with lines of code."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

PACKAGE = "workflow_src"
NOT_OF_THE_MODEL = ("measure", "studies")
"""Subpackages whose lines run the model, and aren't lines of it."""

ENDED = "free_completed"


@dataclass
class Allocation:
    """Memory of `size` bytes from event `start` until event `end`; None if it outlives the record.

    Events are allocations and their ends, counted in order. line: of this project's model, the
    innermost that asked for it; "" where none did, as in a backward pass.
    """

    size: int
    start: int
    end: int | None
    line: str
    address: int


def own_line(stack: Iterable[tuple[str, int]]) -> str:
    """The innermost line of this project's model in a stack of files and lines; "" without one."""
    return next((f"{inside}:{number}" for name, number in stack if (inside := _inside(name))), "")


@cache
def _inside(file: str) -> str:
    """A file's path in this package, if it is part of the model; "" otherwise."""
    _, package, inside = file.rpartition(f"/{PACKAGE}/")
    return "" if not package or inside.split("/")[0] in NOT_OF_THE_MODEL else inside


def allocator_events() -> int:
    """How many blocks the allocator of the current CUDA device has handed out and taken back."""
    stats = torch.cuda.memory_stats()
    return int(stats["allocation.all.allocated"] + stats["allocation.all.freed"])


class AllocatorRecord:
    """A record of the current CUDA device's allocator; see `recorded`.

    `snapshot`, once it has ended, is what torch's own viewer of memory reads.
    """

    def __init__(self) -> None:
        self._before = allocator_events()
        self.snapshot: dict[str, Any] = {}

    @property
    def events(self) -> int:
        """How many blocks were handed out and taken back since the record began."""
        return allocator_events() - self._before

    def address(self, tensor: torch.Tensor) -> int:
        """What the allocation of a tensor has as its address."""
        return tensor.untyped_storage().data_ptr()

    @property
    def allocations(self) -> list[Allocation]:
        """What was handed out, in order."""
        return allocations_of(self.snapshot["device_traces"][torch.cuda.current_device()])


@contextmanager
def recorded() -> Iterator[AllocatorRecord]:
    """Record the allocator inside, with the Python stack of each request."""
    torch.cuda.synchronize()
    torch.cuda.memory._record_memory_history(
        enabled="all", context="all", stacks="python", max_entries=1_000_000, clear_history=True
    )
    record = AllocatorRecord()
    try:
        yield record
        torch.cuda.synchronize()
        record.snapshot = torch.cuda.memory._snapshot()
    finally:
        torch.cuda.memory._record_memory_history(enabled=None)


def allocations_of(trace: Sequence[Mapping[str, Any]]) -> list[Allocation]:
    """The allocations in a device's trace of torch's snapshot; ends of older ones count as events.

    https://docs.pytorch.org/docs/stable/torch_cuda_memory.html describes the trace.
    """
    found: list[Allocation] = []
    live: dict[int, Allocation] = {}
    events = 0
    for entry in trace:
        if entry["action"] == "alloc":
            stack = ((frame["filename"], frame["line"]) for frame in entry["frames"])
            made = Allocation(entry["size"], events, None, own_line(stack), entry["addr"])
            live[entry["addr"]] = made
            found.append(made)
        elif entry["action"] == ENDED:
            if ended := live.pop(entry["addr"], None):
                ended.end = events
        else:
            continue
        events += 1
    return found
