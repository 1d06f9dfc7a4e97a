"""Measures the written-out attention as the course of 2026 asks: many passes, one after another.

100 forward passes, the memory in use before a backward pass, and 100 backward passes of one graph.
"""

from functools import partial

import torch
from torch import Tensor

from workflow_src.common.units import MIB
from workflow_src.measure.memory import kept_mib
from workflow_src.measure.oom import in_turn
from workflow_src.measure.precision import use_precision
from workflow_src.measure.progress import said
from workflow_src.measure.timing import time_call
from workflow_src.studies.attention.cores import core_task
from workflow_src.studies.attention.task import PHASES, Task, build, not_built
from workflow_src.studies.study import Point, Row

IMPLEMENTATION = "naive"


def measure_loops(point: Point) -> list[Row]:
    """A row (sweep "loop") per head size, context and phase."""
    torch.manual_seed(0)
    use_precision(point["precision"])
    return [
        row
        for head_size in point["head_sizes"]
        for context in point["contexts"]
        for row in _shape(point, head_size, context)
    ]


def _shape(point: Point, head_size: int, context: int) -> list[Row]:
    about = {"sweep": "loop", "implementation": IMPLEMENTATION, "precision": point["precision"]}
    about |= {"batch": point["batch"], "heads": point["heads"]}
    about |= {"context": context, "head_size": head_size}
    make = partial(core_task, point, IMPLEMENTATION, head_size, context)
    task, built = build(make, point["device"])
    rows = not_built(built) if task is None else _phases(task, point)
    name = f"passes in turn, head size {head_size}, context {context}"
    return [about | said(f"{name}, {row['phase']}", row) for row in rows]


def _phases(task: Task, point: Point) -> list[Row]:
    def run(phase: str) -> Row:
        if phase == "forward":
            return _forward(task, point)
        return _backward(task, point)

    # What is built is dropped with the task, so that nothing is left to release.
    return [{"phase": phase} | row for phase, row in in_turn(PHASES, run, torch.cuda.empty_cache)]


def _forward(task: Task, point: Point) -> Row:
    """`samples_ns` of each pass, and the memory in use after one (MiB).

    With inputs, the output, and the gradient that backward will take; on a CPU by hooks.
    """
    samples = time_call(task.forward, task.device, point["warmup_passes"], point["passes"])
    out = task.forward()
    return {"samples_ns": samples, "before_backward_mib": _in_use(task, out)}


def _in_use(task: Task, out: Tensor) -> float:
    if task.device != "cuda":
        return kept_mib(task.forward) + (out.nbytes + task.gradient.nbytes) / MIB
    return (torch.cuda.memory_allocated() - task.before_bytes) / MIB


def _backward(task: Task, point: Point) -> Row:
    """`samples_ns` of each pass through one graph, which is kept."""
    out = task.forward()
    call = partial(torch.autograd.grad, out, task.leaves, task.gradient, retain_graph=True)
    return {"samples_ns": time_call(call, task.device, point["warmup_passes"], point["passes"])}
