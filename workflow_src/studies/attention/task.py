"""Times and profiles a forward pass and its backward pass, and measures their memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from workflow_src.common.units import MIB, NS_PER_MS
from workflow_src.measure.activities import activities_of
from workflow_src.measure.l2 import in_rotation, l2_bytes, sets_beyond
from workflow_src.measure.memory import kept_mib, peak_mib
from workflow_src.measure.oom import attempt, free, in_turn, skipped
from workflow_src.measure.timing import (
    between_events,
    elapsed_ns,
    event_pairs,
    plan_repeats,
    time_call,
    time_within,
)
from workflow_src.studies.refusals import refusal
from workflow_src.studies.study import Row

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
PHASES = ("forward", "backward")


@dataclass(frozen=True)
class Task:
    """A forward pass, and what its backward pass needs.

    Backward computes the gradients of `leaves` from `gradient`, that of the output.
    `before_bytes` were allocated on the device before the task's own tensors. `another` makes a
    forward pass like this one on inputs of its own, so that repeats can leave the L2 cache; without
    it they take the same inputs.
    """

    forward: Callable[[], Tensor]
    leaves: Sequence[Tensor]
    gradient: Tensor
    device: str
    before_bytes: int
    another: Callable[[], Callable[[], Tensor]] | None = None

    def backward(self, out: Tensor) -> None:
        """Compute the gradients of the leaves, which frees the graph of `out`."""
        torch.autograd.grad(out, self.leaves, self.gradient)

    def forward_and_backward(self) -> None:
        """Forward, then backward."""
        self.backward(self.forward())


def build(make: Callable[[], Task], device: str) -> tuple[Task | None, Row]:
    """The task that `make` builds, after one forward pass; and a row on building it.

    The task is None if it runs out of memory (status oom) or can't run here (status skipped).
    """
    made: list[Task] = []

    def run() -> Row:
        task = make()
        why = refusal(task.forward)
        if why:
            return {"status": "skipped", "reason": why}
        made.append(task)
        return {}

    row = attempt(run, partial(free, device))
    return (made[0] if made else None), row


def not_built(row: Row) -> list[Row]:
    """The rows of both phases of a task that could not be built; `row` has the reason."""
    backward = skipped("forward") if row["status"] == "oom" else row
    return [row | {"phase": "forward"}, backward | {"phase": "backward"}]


def measure_phases(task: Task, budget_ms: float, profiled: bool, keeps: bool) -> list[Row]:
    """The rows of forward, with autograd's graph, and of backward, timed separately.

    `sets`, if there are several, is how many sets of inputs the forward passes take in turn, so
    that none is in the L2 cache; a backward pass follows the forward pass on the same inputs.
    `profiled` adds the activities of a call, `keeps` the memory that autograd keeps for backward.
    `peak_mib` is torch's peak allocation on a CUDA device in excess of what was allocated before
    the task: in forward's row over forward, in backward's row over both passes.
    """

    def run(phase: str) -> Row:
        if phase == "backward":
            return _backward_row(task, budget_ms, profiled)
        return _forward_row(task, budget_ms, profiled, keeps)

    phases = in_turn(PHASES, run, partial(free, task.device))
    return [{"phase": phase} | row for phase, row in phases]


def _forward_row(task: Task, budget_ms: float, profiled: bool, keeps: bool) -> Row:
    peak = peak_mib(task.forward, task.device, task.before_bytes)
    row: Row = {"peak_mib": peak} | time_forward(task, budget_ms, round((peak or 0) * MIB))
    row |= {"kept_mib": kept_mib(task.forward)} if keeps else {}
    return row | ({"activities": activities_of(task.forward, task.device)} if profiled else {})


def _backward_row(task: Task, budget_ms: float, profiled: bool) -> Row:
    row = time_backward(task, budget_ms)
    row |= {"peak_mib": peak_mib(task.forward_and_backward, task.device, task.before_bytes)}
    if not profiled:
        return row
    return row | {
        "both_activities": activities_of(task.forward_and_backward, task.device),
        "forward_activities": activities_of(task.forward, task.device),
    }


def time_forward(task: Task, budget_ms: float, call_bytes: int) -> Row:
    """As `time_within` of forward, with `sets`: see `measure_phases`.

    `call_bytes` is the memory that a forward pass works on; 0 if that isn't known.
    """
    another = task.another if call_bytes else None
    sets = sets_beyond(l2_bytes(task.device), call_bytes) if another else 1
    calls = [task.forward, *(another() for _ in range(sets - 1) if another)]
    row = time_within(in_rotation(calls), task.device, budget_ms)
    return row | ({"sets": sets} if sets > 1 else {})


def time_backward(task: Task, budget_ms: float) -> Row:
    """`samples_ns` of backward, as many as the budget allows."""
    rough_ms = min(backward_samples(task, 4)[1:]) / NS_PER_MS
    _, samples = plan_repeats(rough_ms, budget_ms, 0.0)
    return {"samples_ns": backward_samples(task, samples)}


def backward_samples(task: Task, steps: int) -> list[int]:
    """Nanoseconds of each of `steps` backward passes, without the forward pass before each.

    On a CUDA device, the time between two events; backward is launched while forward still runs.
    """
    if task.device != "cuda":
        calls = (partial(task.backward, task.forward()) for _ in range(steps))
        return [time_call(call, task.device, 0, 1)[0] for call in calls]
    pairs = event_pairs(steps)
    for pair in pairs:
        between_events(pair, partial(task.backward, task.forward()))
    return elapsed_ns(pairs)
