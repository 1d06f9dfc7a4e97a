"""Implementations of causal attention: q, k, v and the result are (batch, heads, T, d) each."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import BlockMask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from workflow_src.common.case import names_code
from workflow_src.common.units import MIB
from workflow_src.measure import own_attention
from workflow_src.measure.allocations import kept_mib
from workflow_src.measure.memory import allocated_before
from workflow_src.measure.precision import use_precision
from workflow_src.model.attention import Core, attention_core
from workflow_src.studies.study import Point, Row

PHASES = ("forward", "forward_backward", "backward")
"""In increasing order of memory: backward alone runs again and again on a graph that is kept."""

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}

BACKENDS = {
    "sdpa_math": SDPBackend.MATH,
    "sdpa_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "sdpa_flash": SDPBackend.FLASH_ATTENTION,
    "sdpa_cudnn": SDPBackend.CUDNN_ATTENTION,
}
CONTEXT = 256
"""The context of checks."""

BLOCK = 128
"""Queries, and keys, of a block of flex_attention's mask."""


@dataclass
class Series:
    """An implementation at one precision and head size, to be measured over the context. `own` is
    one's own, once checked; `errors` are relative, see measure/own_attention.py."""

    implementation: str
    precision: str
    head_size: int
    point: Point

    def __post_init__(self) -> None:
        """The kind of device, and the type of all tensors."""
        self.device, self.dtype = str(self.point["device"]), TYPES[self.precision]
        self.own: Core | None = None
        self.errors: dict[str, float] = {}

    def lacks(self, phase: str) -> str:
        """Why it has no such phase; "" if it has."""
        return "it has no backward pass" if phase != "forward" and "dq" not in self.errors else ""

    def check(self) -> Row:
        """Its errors. Raises StageError for one of one's own that isn't right."""
        use_precision(self.precision)
        if names_code(self.implementation):
            given = CONTEXT, self.head_size, self.device, self.dtype
            self.own, self.errors = own_attention.checked(self.implementation, *given)
        else:
            inputs = own_attention.random_inputs(CONTEXT, self.head_size, self.device, self.dtype)
            self.errors = own_attention.relative_errors(self.core(CONTEXT), inputs)
        row: Row = {f"error_{name}": error for name, error in self.errors.items()}
        return row | {"error_allowed": own_attention.allowed_error(self.dtype)}

    def core(self, context: int) -> Core:
        """The function for one context."""
        return self.own or core_of(self.implementation, context, self.device)


def core_of(implementation: str, context: int, device: str) -> Core:
    """The implementation for one context."""
    if implementation in BACKENDS:
        return partial(sdpa, BACKENDS[implementation])
    run: Callable[..., Tensor] = flex_attention
    if implementation != "flex":
        named = "naive" if implementation == "compiled" else implementation
        run = attention_core(named, context).to(device)
    if implementation in ("flex", "compiled"):
        torch.compiler.reset()
        run = torch.compile(run, dynamic=False)
    if implementation == "flex":
        return partial(run, block_mask=causal_blocks(context, device))
    return run


def sdpa(backend: SDPBackend, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention by one backend of PyTorch's operator. RuntimeError if it refuses."""
    with sdpa_kernel(backend):
        return scaled_dot_product_attention(q, k, v, is_causal=True)


def causal_blocks(context: int, device: str) -> BlockMask:
    """The blocks that a causal mask leaves: those of the diagonal, and whole ones before it.
    create_block_mask would build the whole mask, context x context."""
    count = -(-context // BLOCK)
    rows = torch.arange(count, dtype=torch.int32, device=device)[None, None]
    whole = rows[..., None, :].expand(1, 1, count, count).contiguous()
    diagonal = torch.zeros_like(whole)
    diagonal[..., 0] = rows
    return BlockMask.from_kv_blocks(
        torch.ones_like(rows), diagonal, rows.clone(), whole, BLOCK, _seen, (context, context)
    )


def _seen(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return query >= key


class Passes:
    """Calls of each phase of a series on random inputs of one context. `before_bytes` were
    allocated on the device before them."""

    def __init__(self, series: Series, context: int) -> None:
        self.series = series
        self.before_bytes = allocated_before(series.device, series.dtype)
        self.core = series.core(context)
        shape = (series.point["batch"], 1, context, series.head_size)
        random = partial(torch.randn, shape, device=series.device, dtype=series.dtype)
        self.leaves = [random().requires_grad_() for _ in range(3)]
        self.gradient = random()

    def forward(self) -> Tensor:
        """Run the forward pass; autograd keeps what backward needs."""
        return self.core(*self.leaves)

    def forward_backward(self) -> None:
        """Run both passes, as a training step does."""
        torch.autograd.grad(self.forward(), self.leaves, self.gradient)

    def call(self, phase: str) -> Callable[[], object]:
        """The call of a phase; of backward alone, on the graph of one forward pass."""
        if phase != "backward":
            run: Callable[[], object] = getattr(self, phase)
            return run
        out = self.forward()
        return partial(torch.autograd.grad, out, self.leaves, self.gradient, retain_graph=True)

    def in_use_mib(self) -> float:
        """Memory (MiB) after a forward pass: inputs, what is kept (on a CPU by hooks), the output
        and its gradient."""
        out = self.forward()
        if self.series.device != "cuda":
            return kept_mib(self.forward) + (out.nbytes + self.gradient.nbytes) / MIB
        return (torch.cuda.memory_allocated() - self.before_bytes) / MIB
