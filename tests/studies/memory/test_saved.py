import torch
from torch import Tensor

from workflow_src.common.case import Case
from workflow_src.measure.allocations import saved_by
from workflow_src.model.attention import MaterializedAttention
from workflow_src.model.saved_tensors import SavedTensor, compiled_block_tensors, total_bytes
from workflow_src.studies.memory.saved import block_of

CASE = Case("c", "c", 40, 104, 1, 2, 10, 2, 24, "fp32", "naive", "adamw", "cpu")
PARTITIONED = "aot_eager_decomp_partition"
"""torch.compile's division into forward and backward, without code for either."""


def softmax_with_indices(x: Tensor) -> Tensor:
    exponentials = torch.exp(x - torch.max(x, dim=-1, keepdim=True)[0])
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def compiled_course_tensors(case: Case) -> list[SavedTensor]:
    """What a compiled block of the course's code saves, counted as its handout counts.

    Its softmax takes the maximum with the index (int64) of each row's, which the derivative needs;
    and the handout leaves out parameters alone, so that the rotary table, a buffer of T x d_head
    cosines and sines, counts. With d_model 2560, d_ff 10240, 16 heads, batch 4 and context 2048
    this comes to the 3,651.31 MiB that the handout of 2026 prints: 8 streams of 80 MiB, 2 matrices
    of 1,024, 3 of 320, maxima and sums of 0.5 each, indices of 1, scales of 0.03125 each, and 1.25
    for the table.
    """
    rows = case.batch * case.heads * case.context
    return [
        *compiled_block_tensors(case),
        SavedTensor("indices of row maxima", 8 * rows),
        SavedTensor("rotary table", 4 * case.context * case.d_head),
    ]


def test_a_compiled_block_saves_what_the_handouts_accounting_names() -> None:
    """With the course's softmax, and with buffers but for the causal mask, which it has none of."""
    block, stream = block_of(CASE)
    core = block.attention.core
    assert isinstance(core, MaterializedAttention)
    core.softmax = softmax_with_indices
    run = torch.compile(block, backend=PARTITIONED, dynamic=False)
    found, _ = saved_by(lambda: run(stream), [*block.parameters(), core.future])
    assert sum(each["bytes"] for each in found.values()) == total_bytes(
        compiled_course_tensors(CASE)
    )
