"""What one block saves for its backward pass: by autograd's hooks."""

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
    """A row for several: `block_saves` with the total in bytes, and `saved_tensor` for each
    storage. Raises UnavailableError if nothing is compiled."""
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
    found = saved_by(forward, [*block.parameters(), *block.buffers()])
    saved_bytes = sum(each["bytes"] for each in found.values())
    total: Row = {"measurement": "block_saves", "saved_bytes": saved_bytes}
    largest = sorted(found.values(), key=lambda each: -each["bytes"])
    return {"several": [total, *({"measurement": "saved_tensor"} | each for each in largest)]}
