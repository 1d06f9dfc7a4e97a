"""Measures attention cores: forward and backward of each implementation on random inputs."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from workflow_src.measure.memory import allocated_before
from workflow_src.measure.progress import said
from workflow_src.model.attention import attention_core
from workflow_src.studies.attention.task import TYPES, Task, build, measure_phases, not_built
from workflow_src.studies.study import Point, Row

Core = Callable[[Tensor, Tensor, Tensor], Tensor]

BACKENDS = {
    "sdpa_math": SDPBackend.MATH,
    "sdpa_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "sdpa_flash": SDPBackend.FLASH_ATTENTION,
    "sdpa_cudnn": SDPBackend.CUDNN_ATTENTION,
}
NOT_COMPILED = {
    "status": "skipped",
    "reason": "compiling alone takes longer than a small study should",
}


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
    about = {"sweep": "core", "implementation": implementation, "precision": point["precision"]}
    about |= {"batch": point["batch"], "heads": point["heads"]}
    about |= {"context": context, "head_size": head_size}
    name = f"{implementation}, head size {head_size}, context {context}"
    rows = _phases(point, implementation, head_size, context)
    return [about | said(f"{name}, {row['phase']}", row) for row in rows]


def _phases(point: Point, implementation: str, head_size: int, context: int) -> list[Row]:
    if implementation == "compiled" and not point["compile"]:
        return not_built(NOT_COMPILED)
    make = partial(core_task, point, implementation, head_size, context)
    task, built = build(make, point["device"])
    if task is None:
        return not_built(built)
    profiled = context in point["profiled_contexts"] and head_size == point["profiled_head_size"]
    keeps = implementation != "compiled"
    return measure_phases(task, point["budget_ms"], profiled, keeps)


def core_task(point: Point, implementation: str, head_size: int, context: int) -> Task:
    """A core on random queries, keys and values of (batch, heads, context, head_size) each."""
    place = {"device": point["device"], "dtype": TYPES[point["precision"]]}
    before = allocated_before(**place)
    random = partial(torch.randn, point["batch"], point["heads"], context, head_size, **place)
    core = core_of(implementation, context, point["device"])

    def inputs() -> list[Tensor]:
        return [random().requires_grad_() for _ in range(3)]

    def another() -> Callable[[], Tensor]:
        return partial(core, *inputs())

    leaves = inputs()
    forward = partial(core, *leaves)
    return Task(forward, leaves, random(), point["device"], before, another)


def core_of(implementation: str, context: int, device: str) -> Core:
    """The core named `implementation`: q, k, v and its result are (batch, heads, T, d_head)."""
    if implementation in BACKENDS:
        return partial(sdpa, BACKENDS[implementation])
    if implementation != "compiled":
        return attention_core(implementation, context).to(device)
    torch.compiler.reset()
    compiled: Core = torch.compile(attention_core("naive", context).to(device), dynamic=False)
    return compiled


def sdpa(backend: SDPBackend, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention by one backend of PyTorch's operator. RuntimeError if it refuses."""
    with sdpa_kernel(backend):
        return scaled_dot_product_attention(q, k, v, is_causal=True)
