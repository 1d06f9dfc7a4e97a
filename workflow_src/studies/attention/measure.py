"""Measures attention: each implementation's forward and backward, and the kernels of a module."""

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from workflow_src.common.summary import NS_PER_MS
from workflow_src.model.attention import attention_core
from workflow_src.studies.memory import allocated_before, kept_mib, peak_mib
from workflow_src.studies.outcomes import attempt, free, in_turn, skipped, spread
from workflow_src.studies.repeats import plan_repeats, time_within
from workflow_src.studies.study import Point, Row
from workflow_src.studies.timing import activities_of, synchronize, time_call

Forward = Callable[[], Tensor]
Core = Callable[[Tensor, Tensor, Tensor], Tensor]

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
BUDGET_MS = 25.0
"""Time for the samples of one phase; of long ones the fewest are taken (see repeats)."""

BACKENDS = {
    "sdpa_math": SDPBackend.MATH,
    "sdpa_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "sdpa_flash": SDPBackend.FLASH_ATTENTION,
    "sdpa_cudnn": SDPBackend.CUDNN_ATTENTION,
}
NO_COMPILER = ("InvalidCxxCompiler", "TritonMissing")
"""What torch.compile raises, or wraps, where it finds no compiler."""

REFUSALS = (
    "No available kernel",
    "No viable backend",
    "No valid execution plan",
    "Failed to find C compiler",
)
"""In the messages of backends that don't take an input, and of Triton without a C compiler."""


@dataclass(frozen=True)
class Task:
    """A forward pass, and the tensors that its backward pass leads to from `gradient`.

    `before_bytes` were allocated on the device before its own tensors were made.
    """

    forward: Forward
    leaves: Sequence[Tensor]
    gradient: Tensor
    device: str
    before_bytes: int

    def backward(self, out: Tensor) -> None:
        """Gradients of the leaves; the graph of `out` is used up."""
        torch.autograd.grad(out, self.leaves, self.gradient)

    def forward_and_backward(self) -> None:
        """Forward, then backward."""
        self.backward(self.forward())


def measure_cores(point: Point) -> list[Row]:
    """A row per implementation, head size, context and phase."""
    torch.manual_seed(0)
    return [
        row
        for implementation in point["implementations"]
        for head_size in point["head_sizes"]
        for context in point["contexts"]
        for row in measure_core(point, implementation, head_size, context)
    ]


def measure_core(point: Point, implementation: str, head_size: int, context: int) -> list[Row]:
    """The rows of both phases of one core on random queries, keys and values."""
    device = point["device"]
    about = {"sweep": "core", "implementation": implementation, "precision": point["precision"]}
    about |= {"batch": point["batch"], "heads": point["heads"]}
    about |= {"context": context, "head_size": head_size}
    if implementation == "compiled" and not point["compile"]:
        why = "compiling alone takes longer than a study of this scale may"
        return both(about | {"status": "skipped", "reason": why})
    shape = (point["batch"], point["heads"], context, head_size)
    profiled = context in point["profiled_contexts"] and head_size == point["profiled_head_size"]
    made: list[Task] = []

    def build() -> Row:
        place = {"device": device, "dtype": TYPES[point["precision"]]}
        before = allocated_before(**place)
        random = partial(torch.randn, shape, **place)
        inputs = [random().requires_grad_() for _ in range(3)]
        core = core_of(implementation, context, device)
        forward = partial(core, *inputs)
        why = refusal(forward)
        made.append(Task(forward, inputs, random(), device, before))
        return {"status": "skipped", "reason": why} if why else {}

    found = attempt(build, lambda: free(device))
    if found["status"] == "oom":
        return [about | {"phase": "forward"} | found, about | BACKWARD_SKIPPED]
    if found["status"] == "skipped":
        return both(about | found)
    keeps = implementation != "compiled"
    return [about | row for row in measure_phases(made.pop(), profiled, keeps)]


BACKWARD_SKIPPED = {"phase": "backward"} | skipped("forward")


def both(row: Row) -> list[Row]:
    """A row of what holds for both phases, once for each."""
    return [row | {"phase": phase} for phase in ("forward", "backward")]


def core_of(implementation: str, context: int, device: str) -> Core:
    """The core called `implementation`: (batch, heads, T, d_head) three times -> the same."""
    if implementation in BACKENDS:
        return partial(sdpa, BACKENDS[implementation])
    if implementation != "compiled":
        return attention_core(implementation, context).to(device)
    torch.compiler.reset()
    compiled: Core = torch.compile(attention_core("naive", context).to(device), dynamic=False)
    return compiled


def sdpa(backend: SDPBackend, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention by one backend of PyTorch's operator. RuntimeError where it refuses."""
    with sdpa_kernel(backend):
        return scaled_dot_product_attention(q, k, v, is_causal=True)


def refusal(call: Callable[[], object]) -> str:
    """Why `call` is refused, by a backend or for want of a compiler; empty where it isn't.

    Any other exception passes through, torch.OutOfMemoryError too.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            call()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            cause = getattr(error, "inner_exception", error)
            known = type(cause).__name__ in NO_COMPILER
            if not known and not any(text in str(cause) for text in REFUSALS):
                raise
            return reason_of(str(cause), [str(warning.message) for warning in said])
    return ""


def reason_of(error: str, said: Sequence[str]) -> str:
    """The causes that torch warned of, else the error's first sentence.

    That the other backends are switched off, which they are on purpose, is no cause.
    """
    lines = [re.sub(r"\s*\(Triggered internally.*", "", line, flags=re.S) for line in said]
    causes = [line for line in lines if "not used because" not in line and "disabled" not in line]
    short = dict.fromkeys(" ".join(line.split()) for line in causes)
    return "; ".join(short) or " ".join(error.split()).split(". ")[0]


def measure_phases(task: Task, profiled: bool, keeps: bool) -> list[Row]:
    """The rows of forward, with a graph, and of backward, timed apart.

    `profiled` adds how many kernels ran, `keeps` the memory that autograd keeps for backward.
    Memory before the backward and in all is the peak that torch allocated on a CUDA device,
    above what was there before the task.
    """
    forward, device = task.forward, task.device
    peak = partial(peak_mib, device=device, before_bytes=task.before_bytes)

    def run(phase: str) -> Row:
        if phase == "backward":
            row = time_backward(task)
            row |= {"peak_mib": peak(task.forward_and_backward)}
            return row | (backward_launches(task) if profiled else {})
        row = time_within(forward, device, BUDGET_MS) | {"peak_mib": peak(forward)}
        row |= {"kept_mib": kept_mib(forward)} if keeps else {}
        return row | ({"kernels": launched(forward, device)} if profiled else {})

    phases = in_turn(("forward", "backward"), run, lambda: free(device))
    return [{"phase": phase} | row for phase, row in phases]


def time_backward(task: Task) -> Row:
    """The spread of backward's time, each after a forward of its own that doesn't count."""
    rough_ms = min(backward_samples(task, 4)[1:]) / NS_PER_MS
    _, samples = plan_repeats(rough_ms, BUDGET_MS, 0.0)
    return spread(backward_samples(task, samples))


def backward_samples(task: Task, steps: int) -> list[int]:
    """Nanoseconds of each of `steps` backward passes.

    On a CUDA device between two events; backward is launched while forward still runs.
    """
    if task.device != "cuda":
        calls = (partial(task.backward, task.forward()) for _ in range(steps))
        return [time_call(call, task.device, 0, 1)[0] for call in calls]
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(steps)]
    for start, end in pairs:
        out = task.forward()
        start.record()
        task.backward(out)
        end.record()
    synchronize(task.device)
    return [round(start.elapsed_time(end) * 1e6) for start, end in pairs]


def computing(activities: pd.DataFrame) -> pd.DataFrame:
    """Activities that compute or move something: no views and no allocations of a CPU."""
    return activities[activities["family"] != "bookkeeping"]


def launched(call: Callable[[], object], device: str) -> int:
    """How many kernels (on a CPU: operators) one call runs."""
    return len(computing(activities_of(call, device)))


def backward_launches(task: Task) -> Row:
    """The kernels of a backward pass: those of both passes less those of forward."""
    both_passes = launched(task.forward_and_backward, task.device)
    return {"kernels": both_passes - launched(task.forward, task.device)}
