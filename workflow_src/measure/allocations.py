"""What a step's tensors take: each allocation with its line of code, and the peak of a step.

A CUDA device's allocator records what it hands out. On a CPU, operators' results tell.
"""

import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from traceback import walk_stack
from typing import Any, Self

import torch
from torch import Tensor, UntypedStorage
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from workflow_src.common.units import MIB
from workflow_src.measure.memory import reset_peak
from workflow_src.measure.rows import Row
from workflow_src.measure.workload import Workload

NOT_OF_THE_MODEL = ("measure", "studies")
"""Subpackages that run the model."""


@dataclass
class Allocation:
    """Memory of `size` bytes from event `start` until event `end`; None if it outlives the record.

    Events are allocations and their ends, counted in order. line: see `own_line`; "" in a backward
    pass, for example.
    """

    size: int
    start: int
    end: int | None
    line: str
    address: int


def own_line(stack: Iterable[tuple[str, int]]) -> str:
    """The innermost line of this project's model in a stack of files and lines; "" without one."""
    return next((f"{inside}:{number}" for name, number in stack if (inside := _inside(name))), "")


def _line_here() -> str:
    return own_line((f.f_code.co_filename, n) for f, n in walk_stack(sys._getframe()))


@cache
def _inside(file: str) -> str:
    """The path in this package of a file of the model; "" of others."""
    _, package, inside = file.rpartition("/workflow_src/")
    return "" if not package or inside.split("/")[0] in NOT_OF_THE_MODEL else inside


class AllocatorRecord:
    """While entered, records the current CUDA device's allocator, with the stack of each request.

    `snapshot`, there afterwards, is what torch's viewer of memory reads.
    """

    def __enter__(self) -> Self:
        """Begin the record."""
        torch.cuda.synchronize()
        torch.cuda.memory._record_memory_history(
            enabled="all", context="all", stacks="python", max_entries=1_000_000, clear_history=True
        )
        self._before, self.snapshot = _allocator_events(), dict[str, Any]()
        return self

    def __exit__(self, *error: object) -> None:
        """End the record, and keep it unless something was raised."""
        if not any(error):
            torch.cuda.synchronize()
            self.snapshot = torch.cuda.memory._snapshot()
        torch.cuda.memory._record_memory_history(enabled=None)

    @property
    def events(self) -> int:
        """Blocks handed out and taken back since the record began."""
        return _allocator_events() - self._before

    def address(self, tensor: Tensor) -> int:
        """The `address` of a tensor's allocation."""
        return tensor.untyped_storage().data_ptr()

    @property
    def allocations(self) -> list[Allocation]:
        """What was handed out, in order."""
        return allocations_of(self.snapshot["device_traces"][torch.cuda.current_device()])


def _allocator_events() -> int:
    stats = torch.cuda.memory_stats()
    return int(stats["allocation.all.allocated"] + stats["allocation.all.freed"])


def allocations_of(trace: Sequence[Mapping[str, Any]]) -> list[Allocation]:
    """The allocations in a device's trace of torch's snapshot; ends of older ones count as events.

    https://docs.pytorch.org/docs/stable/torch_cuda_memory.html describes the trace.
    """
    found: list[Allocation] = []
    live: dict[int, Allocation] = {}
    told = (each for each in trace if each["action"] in ("alloc", "free_completed"))
    for event, entry in enumerate(told):
        if entry["action"] == "alloc":
            stack = ((frame["filename"], frame["line"]) for frame in entry["frames"])
            made = Allocation(entry["size"], event, None, own_line(stack), entry["addr"])
            live[entry["addr"]] = made
            found.append(made)
        elif ended := live.pop(entry["addr"], None):
            ended.end = event
    return found


class LiveTensors(TorchDispatchMode):
    """While entered, notes each storage that an operator returns for the first time.

    `known` are tensors that were there before and stay; `peak_bytes` is without them. What an
    operator takes and frees inside itself isn't seen.
    """

    def __init__(self, known: Iterable[Tensor] = ()) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.events = self.live_bytes = self.peak_bytes = 0
        self.allocations: list[Allocation] = []
        self._known = set(map(self.address, known))
        self._live: dict[int, tuple[Any, Allocation]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator, and note what it returns."""
        out = func(*args, **(kwargs or {}))
        for each in tree_leaves(out):
            if isinstance(each, Tensor):
                self._note(each.untyped_storage())
        return out

    def address(self, tensor: Tensor) -> int:
        """The `address` of a tensor's allocation."""
        return int(tensor.untyped_storage()._cdata)

    def _note(self, storage: UntypedStorage) -> None:
        key = storage._cdata
        if key in self._live or key in self._known:
            return
        made = Allocation(storage.nbytes(), self.events, None, _line_here(), key)
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


def saved_by(run: Callable[[], Tensor], there: Sequence[Tensor]) -> dict[int, Row]:
    """The storages that autograd saves of `run`, by address, without those of `there`: of each its
    bytes, and shape, type and line of code of the first tensor in it."""
    found: dict[int, Row] = {}
    kept: list[UntypedStorage] = []
    before = {tensor.untyped_storage().data_ptr() for tensor in there}

    def note(tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage.data_ptr() in before or storage.data_ptr() in found:
            return
        kept.append(storage)
        found[storage.data_ptr()] = {
            "bytes": storage.nbytes(),
            "shape": " x ".join(map(str, tensor.shape)),
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "line": _line_here(),
        }

    with torch.autograd.graph.saved_tensors_hooks(note, lambda unused: unused):
        run()
    return found


def kept_mib(forward: Callable[[], Tensor]) -> float:
    """Memory (MiB) that autograd keeps of a forward pass, inputs included."""
    return float(sum(each["bytes"] for each in saved_by(forward, ()).values())) / MIB


def storage_bytes(tensors: Iterable[Tensor]) -> int:
    """Bytes of tensors' storages, each once."""
    storages = [tensor.untyped_storage() for tensor in tensors]
    return sum({each._cdata: each.nbytes() for each in storages}.values())


def available_mib(device: str) -> float | None:
    """Memory (MiB) that a CUDA device has for torch: free, or held by its allocator already."""
    if device != "cuda":
        return None
    free_bytes, _ = torch.cuda.mem_get_info()
    return (free_bytes + torch.cuda.memory_reserved()) / MIB


def step_peak(workload: Workload, phase: str, before_bytes: int) -> Row:
    """Peak bytes of a step: what the allocator handed out, and what it reserved for that.

    Without `before_bytes`, which were allocated before the workload. On a CPU, of the storages that
    operators returned and those that outlive a step.
    """
    workload.optimizer.zero_grad(set_to_none=True)
    if workload.case.device != "cuda":
        with LiveTensors(kept_tensors(workload)) as live:
            workload.phase(phase)()
        return {"peak_bytes": live.peak_bytes + storage_bytes(kept_tensors(workload))}
    workload.synchronize()
    reset_peak("cuda")
    workload.phase(phase)()
    workload.synchronize()
    stats = torch.cuda.memory_stats()
    return {
        "peak_bytes": stats["allocated_bytes.all.peak"] - before_bytes,
        "reserved_bytes": stats["reserved_bytes.all.peak"],
    }


def kept_tensors(workload: Workload) -> list[Tensor]:
    """Tensors that outlive a step: the model's, the batch, and the optimizer's state."""
    model = workload.model
    return [*model.parameters(), *model.buffers(), *workload.batch, *state_tensors(workload)]


def state_tensors(workload: Workload) -> list[Tensor]:
    """The tensors of the optimizer's state."""
    states = workload.optimizer.state.values()
    return [each for state in states for each in state.values() if torch.is_tensor(each)]


def gradients(workload: Workload) -> list[Tensor]:
    """The gradients that there are."""
    return [each.grad for each in workload.model.parameters() if each.grad is not None]
