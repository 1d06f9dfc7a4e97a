"""What one block saves for its backward pass: by autograd's hooks, and by the allocator."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from workflow_src.common.case import Case
from workflow_src.measure.allocations import saved_by
from workflow_src.measure.precision import autocast
from workflow_src.model.transformer import Block, build_model
from workflow_src.studies.refusals import refusing
from workflow_src.studies.study import Row


def block_of(case: Case) -> tuple[Block, Tensor]:
    """One block of a case's model, with weights drawn from its seed, and a residual stream for it:
    (batch, T, d_model), float32, with a gradient, as in a model."""
    (block,) = build_model(replace(case, layers=1)).blocks
    assert isinstance(block, Block)
    shape = (case.batch, case.context, case.d_model)
    return block, torch.randn(shape, device=case.device, requires_grad=True)


def saved_rows(case: Case, compiled: bool) -> Row:
    """A row for several: `block_saves` with totals in bytes, and `saved_tensor` for each storage.

    allocated_bytes: by how much the CUDA allocator's memory grew over the block's forward pass,
    None on a CPU; stream_bytes: the size of the input, which is saved but was there before, and of
    the output, which is new but isn't saved. Raises UnavailableError if nothing is compiled.
    """
    if compiled:
        with refusing():
            torch.compile(torch.sin)(torch.ones(1, device=case.device))
    block, stream = block_of(case)
    run = torch.compile(block, dynamic=False) if compiled else block

    def forward() -> Tensor:
        with autocast(case.precision, case.device):
            made: Tensor = run(stream)
            return made

    forward()
    allocated = _grown(forward) if case.device == "cuda" else None
    found, out = saved_by(forward, [*block.parameters(), *block.buffers()])
    gradients = torch.autograd.grad(forward().sum(), list(block.parameters()))
    total: Row = {
        "measurement": "block_saves",
        "saved_bytes": sum(each["bytes"] for each in found.values()),
        "allocated_bytes": allocated,
        "stream_bytes": stream.untyped_storage().nbytes(),
        "output_saved": out.untyped_storage().data_ptr() in found,
        "gradient_bytes": sum(each.untyped_storage().nbytes() for each in gradients),
    }
    largest = sorted(found.values(), key=lambda each: -each["bytes"])
    return {"several": [total, *({"measurement": "saved_tensor"} | each for each in largest)]}


def _grown(forward: Callable[[], Tensor]) -> int:
    """Bytes by which the CUDA allocator's memory has grown after a forward pass."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    out = forward()
    torch.cuda.synchronize()
    grown = torch.cuda.memory_allocated() - before
    del out
    return grown
