"""Keeps the L2 cache from answering for memory: calls go in rotation over several sets of buffers.

A call whose inputs and outputs fit in the cache would otherwise find them there at every repeat.
"""

import math
from collections.abc import Callable, Sequence
from itertools import cycle

import torch

BEYOND = 2
"""The sets of a rotation together are larger than this many times the L2 cache."""


def l2_bytes(device: str) -> int:
    """The size of the CUDA device's L2 cache in bytes; 0 for a CPU, whose caches aren't evaded."""
    return int(torch.cuda.get_device_properties(0).L2_cache_size) if device == "cuda" else 0


def sets_beyond(l2: int, set_bytes: int) -> int:
    """How many sets of `set_bytes` a rotation needs, so that no set is in a cache of `l2` bytes.

    1 if a single set is larger than BEYOND times the cache, and so evicts itself.
    """
    return math.ceil(BEYOND * l2 / set_bytes) + 1 if set_bytes <= BEYOND * l2 else 1


def in_rotation(calls: Sequence[Callable[[], object]]) -> Callable[[], object]:
    """A call that runs the next of `calls` each time, each with buffers of its own.

    What each returned is kept until its next turn, so that no two of them get the same memory.
    Each runs once at first, so that memory is allocated before anything is timed.
    """
    if len(calls) == 1:
        return calls[0]
    turns, kept = cycle(range(len(calls))), [call() for call in calls]

    def run() -> object:
        turn = next(turns)
        kept[turn] = calls[turn]()
        return kept[turn]

    return run
