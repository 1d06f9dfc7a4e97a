import torch
from torch import Tensor

from workflow_src.common.case import Case
from workflow_src.model.attention import MaterializedAttention
from workflow_src.model.saved_tensors import compiled_course_tensors, total_bytes
from workflow_src.studies.memory.saved import block_of, saved_by

CASE = Case("c", "c", 40, 104, 1, 2, 10, 2, 24, "fp32", "naive", "adamw", "cpu")
PARTITIONED = "aot_eager_decomp_partition"
"""torch.compile's division into forward and backward, without code for either."""


def softmax_with_indices(x: Tensor) -> Tensor:
    exponentials = torch.exp(x - torch.max(x, dim=-1, keepdim=True)[0])
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def test_a_compiled_block_saves_what_the_handouts_accounting_names() -> None:
    """With the course's softmax, and with buffers but for the causal mask, which it has none of."""
    block, stream = block_of(CASE)
    core = block.attention.core
    assert isinstance(core, MaterializedAttention)
    core.softmax = softmax_with_indices
    run = torch.compile(block, backend=PARTITIONED, dynamic=False)
    found, _ = saved_by(lambda: run(stream), [*block.parameters(), core.future])
    assert sum(each.bytes for each in found) == total_bytes(compiled_course_tensors(CASE))
