"""The storages that operators make, from their first use to their end, on any device.

For a device without an allocator that records what it hands out, such as a CPU. What an operator
takes and frees inside itself isn't seen.
"""

import sys
import weakref
from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from torch import Tensor, UntypedStorage
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from workflow_src.measure.allocations import Allocation, AllocatorRecord, own_line, recorded


class LiveTensors(TorchDispatchMode):
    """While entered, notes each storage that an operator returns for the first time.

    `known` are tensors that were there before and stay. `events` counts storages made and ended,
    `peak_bytes` is the most that lived at a time besides the known ones.
    """

    def __init__(self, known: Iterable[Tensor] = ()) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.events = 0
        self.live_bytes = self.peak_bytes = 0
        self.allocations: list[Allocation] = []
        self._known = {each.untyped_storage()._cdata for each in known}
        self._live: dict[int, tuple[Any, Allocation]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator, and note what it returns."""
        out = func(*args, **(kwargs or {}))
        for each in tree_leaves(out):
            if isinstance(each, Tensor):
                self._note(each.untyped_storage())
        return out

    def address(self, tensor: Tensor) -> int:
        """What the allocation of a tensor has as its address."""
        return int(tensor.untyped_storage()._cdata)

    def _note(self, storage: UntypedStorage) -> None:
        key = storage._cdata
        if key in self._live or key in self._known:
            return
        made = Allocation(storage.nbytes(), self.events, None, own_line(_stack()), key)
        self._live[key] = weakref.ref(storage, partial(self._ended, key)), made
        self.allocations.append(made)
        self._count(made.size)

    def _ended(self, key: int, _: object) -> None:
        _, made = self._live.pop(key)
        made.end = self.events
        self._count(-made.size)

    def _count(self, size: int) -> None:
        self.events += 1
        self.live_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)


def _stack() -> list[tuple[str, int]]:
    """Files and lines of the Python stack, the innermost first."""
    frame, found = sys._getframe(1), []
    while frame:
        found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return found


def recording(
    device: str, known: Iterable[Tensor]
) -> AbstractContextManager[AllocatorRecord | LiveTensors]:
    """A record of the allocator on a CUDA device, and of operators' results elsewhere."""
    return recorded() if device == "cuda" else LiveTensors(known)


def storage_bytes(tensors: Iterable[Tensor]) -> int:
    """Bytes of the storages of tensors, each once."""
    storages = [tensor.untyped_storage() for tensor in tensors]
    return sum({each._cdata: each.nbytes() for each in storages}.values())
