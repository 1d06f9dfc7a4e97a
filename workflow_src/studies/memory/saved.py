"""What one block saves for its backward pass: by autograd's hooks, and by the allocator."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from workflow_src.common.case import Case
from workflow_src.measure.allocations import own_line
from workflow_src.measure.precision import AUTOCAST
from workflow_src.model.attention import MultiHeadAttention, RotaryEmbedding, attention_core
from workflow_src.model.transformer import Block, initialize
from workflow_src.studies.study import Row


@dataclass(frozen=True)
class Saved:
    """A storage that autograd saves: its bytes, the first tensor in it, and the line of code."""

    bytes: int
    shape: tuple[int, ...]
    dtype: str
    line: str
    pointer: int


def block_of(case: Case) -> tuple[Block, Tensor]:
    """One block of a case's model, with weights drawn from its seed, and a residual stream for it.

    The stream, (batch, T, d_model), is in float32 and needs a gradient, as it does in a model.
    """
    with torch.device(case.device):
        rotary = RotaryEmbedding(case.context, case.d_head)
        core = attention_core(case.attention, case.context)
        attention = MultiHeadAttention(case.d_model, case.heads, rotary, core)
        block = Block(case.d_model, case.d_ff, attention)
        initialize(block, torch.Generator(case.device).manual_seed(case.seed))
        stream = torch.randn(case.batch, case.context, case.d_model, requires_grad=True)
    return block, stream


def saved_by(run: Callable[[], Tensor], there: Sequence[Tensor]) -> tuple[list[Saved], Tensor]:
    """The storages that autograd saves of `run`, each once, without those of `there`; its result.

    The result's graph can't be run backward.
    """
    found: dict[int, Saved] = {}
    kept: list[torch.UntypedStorage] = []
    before = {tensor.untyped_storage().data_ptr() for tensor in there}

    def note(tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage.data_ptr() in before or storage.data_ptr() in found:
            return
        kept.append(storage)
        stack = traceback.extract_stack()[::-1]
        line = own_line((frame.filename, frame.lineno or 0) for frame in stack)
        dtype = str(tensor.dtype).removeprefix("torch.")
        entry = Saved(storage.nbytes(), tuple(tensor.shape), dtype, line, storage.data_ptr())
        found[storage.data_ptr()] = entry

    with torch.autograd.graph.saved_tensors_hooks(note, lambda unused: unused):
        out = run()
    return list(found.values()), out


def measure_saved(case: Case, compiled: bool) -> list[Row]:
    """A row `block_saves` with totals in bytes, and a row `saved_tensor` for each storage.

    allocated_bytes: by how much the CUDA allocator's memory grew over the block's forward pass,
    None on a CPU; stream_bytes: the input, which is among what is saved but was there before, and
    the output, which isn't saved but new, are as large.
    """
    block, stream = block_of(case)
    run = torch.compile(block, dynamic=False) if compiled else block
    there = [*block.parameters(), *block.buffers()]
    about = {"context": case.context, "batch": case.batch, "heads": case.heads, "size": case.size}
    about |= {"precision": case.precision, "compiled": compiled}
    _forward(run, case, stream)
    allocated = _grown(run, case, stream)
    found, out = saved_by(lambda: _forward(run, case, stream), there)
    gradients = torch.autograd.grad(_forward(run, case, stream).sum(), list(block.parameters()))
    total = {
        "measurement": "block_saves",
        "saved_bytes": sum(each.bytes for each in found),
        "allocated_bytes": allocated,
        "stream_bytes": stream.untyped_storage().nbytes(),
        "output_saved": out.untyped_storage().data_ptr() in {each.pointer for each in found},
        "gradient_bytes": sum(each.untyped_storage().nbytes() for each in gradients),
    }
    tensors = [
        {
            "measurement": "saved_tensor",
            "bytes": each.bytes,
            "shape": " x ".join(map(str, each.shape)),
            "dtype": each.dtype,
            "line": each.line,
        }
        for each in sorted(found, key=lambda each: -each.bytes)
    ]
    return [about | {"status": "ok", "reason": ""} | row for row in (total, *tensors)]


def _forward(run: Callable[[Tensor], Tensor], case: Case, stream: Tensor) -> Tensor:
    dtype = AUTOCAST.get(case.precision)
    with torch.autocast(case.device, dtype=dtype, enabled=dtype is not None):
        return run(stream)


def _grown(run: nn.Module | Callable[[Tensor], Tensor], case: Case, stream: Tensor) -> int | None:
    """Bytes by which the allocator's memory has grown when a forward pass has ended."""
    if case.device != "cuda":
        return None
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    out = _forward(run, case, stream)
    torch.cuda.synchronize()
    grown = torch.cuda.memory_allocated() - before
    del out
    return grown
