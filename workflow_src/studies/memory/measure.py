"""Measures peaks of memory, records allocations with lines of code, and what a block saves."""

import gzip
import pickle
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import torch
from torch import Tensor, nn

from workflow_src.common.atomic_write import write_whole
from workflow_src.common.case import Case
from workflow_src.measure.allocations import (
    Allocation,
    AllocatorRecord,
    LiveTensors,
    available_mib,
    gradients,
    kept_tensors,
    state_tensors,
    step_peak,
    storage_bytes,
)
from workflow_src.measure.memory import allocated_before
from workflow_src.measure.precision import AUTOCAST
from workflow_src.measure.rows import free
from workflow_src.measure.workload import Workload, run_phases
from workflow_src.model.ranges import emitting, range_
from workflow_src.studies.memory.saved import saved_rows
from workflow_src.studies.models import case_of, identity
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import Task, main

Mark = tuple[int, int, str]
"""Events so far, the clock (ns), and the path of ranges that a step is in from then on."""


class Marks:
    """Marks of what runs inside `around`; `events` counts allocations and their ends so far.

    A step is a range around all others. Forward is in the model's ranges, with numbered blocks:
    step 1/forward/block 3/attention. Backward is in the part whose output's gradient it has just
    made: step 1/backward/block 3/attention.
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
        with ExitStack() as hooks, emitting(self._range):
            for name, module in model.named_modules():
                # Parts of the model, and those of its blocks: blocks.3.attention_norm.
                if name and name.count(".") in (0, 2):
                    part = re.sub(r"\w+_norm$", "norm", name).replace("blocks.", "block ")
                    follow = partial(self._follow, part.replace(".", "/"))
                    hooks.enter_context(module.register_forward_hook(follow))
            yield

    @contextmanager
    def _range(self, name: str) -> Iterator[None]:
        if name == "block":
            name, self._blocks = f"block {self._blocks}", self._blocks + 1
        if name in ("forward", "embedding"):
            self._blocks = 0
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


PHASES = ("forward", "train_step")

Held = tuple[int, Mapping[str, set[int]]]
"""An event, and the addresses of what is held then, by kind."""


def tasks(point: Point, beside: Path) -> Iterator[Task | Row]:
    """The rows of a point; snapshots of the allocator go beside its file, `beside`."""
    if point["measures"] == "block":
        for precision, heads in product(point["precisions"], point["heads"]):
            case = replace(case_of(point, point["size"], precision), heads=heads)
            about = {"measurement": "block_saves", "heads": heads, "compiled": point["compiled"]}
            yield Task(about | identity(case), partial(saved_rows, case, point["compiled"]))
        return
    available = {"available_mib": available_mib(point["device"]), "status": "ok", "reason": ""}
    yield {"measurement": "device"} | available
    for precision, context in product(point["precisions"], point["contexts"]):
        free(point["device"])
        case = case_of({**point, "context": context}, point["size"], precision)
        # The first precision's allocations are enough to tell where they come from.
        record = precision == point["precisions"][0] and context in point["recorded"]
        yield from case_rows(case, record, beside)


def case_rows(case: Case, record: bool, beside: Path) -> list[Row]:
    """A row per phase with its peak and, if `record` and it fits, one with its allocations."""
    about = identity(case)
    before = allocated_before(case.device, AUTOCAST.get(case.precision, torch.float32))
    rows: list[Row] = []

    def run(workload: Workload, phase: str) -> Row:
        # The first steps are recorded: the optimizer's state comes into being in them.
        if record:
            snapshot = beside.with_name(f"{beside.stem}.{case.case}.{phase}.pickle.gz")
            row = {"status": "ok", "reason": ""} | _record(workload, phase, snapshot)
            rows.append(about | {"measurement": "record", "phase": phase} | row)
        else:
            workload.phase(phase)()
        return step_peak(workload, phase, before)

    for phase, row in run_phases(case, run, PHASES):
        rows.append(about | {"measurement": "peak", "phase": phase} | row)
    return rows


def _record(workload: Workload, phase: str, snapshot: Path) -> Row:
    """The allocations of one forward pass, or of the first two training steps; see `as_row`.

    there_bytes: the model's, the batch's. On a GPU, torch's snapshot is written to `snapshot`.
    """
    known, on_gpu = kept_tensors(workload), workload.case.device == "cuda"
    there = storage_bytes(known)
    record: AllocatorRecord | LiveTensors = AllocatorRecord() if on_gpu else LiveTensors(known)
    with record:
        marks = Marks(lambda: record.events)
        held: list[Held] = []
        with marks.around(workload.model):
            for number in range(1 if phase == "forward" else 2):
                # A training step has ranges of its own.
                inside = range_("forward") if phase == "forward" else nullcontext()
                with range_(f"step {number + 1}"), inside:
                    workload.phase(phase)()
                held.append((record.events, _addresses(workload, record)))
    if isinstance(record, AllocatorRecord):
        packed = gzip.compress(pickle.dumps(record.snapshot), compresslevel=1)
        # Whole or not at all, like all that is kept.
        write_whole(snapshot, lambda partial: partial.write_bytes(packed))
    return {"there_bytes": there} | as_row(record.allocations, held, marks.found)


def _addresses(workload: Workload, record: AllocatorRecord | LiveTensors) -> dict[str, set[int]]:
    """Where gradients and the optimizer's state are, in a function that keeps none of them."""
    found = {"gradients": gradients(workload), "state": state_tensors(workload)}
    return {kind: {record.address(each) for each in every} for kind, every in found.items()}


def as_row(allocations: Sequence[Allocation], held: Sequence[Held], marks: Sequence[Mark]) -> Row:
    """`allocations`: size, start, end, index of the line, kind ("" for most); `lines`; `marks`."""
    lines = list(dict.fromkeys(each.line for each in allocations))
    place = {line: number for number, line in enumerate(lines)}
    return {
        "allocations": [
            [each.size, each.start, each.end, place[each.line], _kind(each, held)]
            for each in allocations
        ],
        "lines": lines,
        "marks": [list(mark) for mark in marks],
    }


def _kind(allocation: Allocation, held: Sequence[Held]) -> str:
    """What an allocation is held as in the first of `held` that has it; "" in none."""
    for event, addresses in held:
        alive = allocation.start < event and (allocation.end is None or allocation.end >= event)
        for kind, known in addresses.items():
            if alive and allocation.address in known:
                return kind
    return ""


if __name__ == "__main__":
    main(tasks, beside=True)
