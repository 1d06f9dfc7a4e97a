"""What blocks save and cases keep: found by hooks, and derived."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from workflow_src.common.case import Case
from workflow_src.measure.allocations import saved_by
from workflow_src.model.attention import MaterializedAttention
from workflow_src.model.saved_tensors import (
    SavedTensor,
    attention_tensors,
    compiled_block_tensors,
    feed_forward_tensors,
    total_bytes,
)
from workflow_src.studies.memory import analyze
from workflow_src.studies.memory.measure import case_rows, tasks
from workflow_src.studies.memory.saved import block_of
from workflow_src.studies.models import case_of
from workflow_src.studies.study import Row
from workflow_src.studies.tasks import rows as measured

SIZE = {"d_model": 8, "d_ff": 16, "layers": 1, "heads": 2}
POINT: dict[str, Any] = {
    "point": "p", "measures": "model", "sizes": {"s": SIZE}, "vocabulary": 20, "batch": 4,
    "context": 8, "device": "cpu", "size": "s", "compiled": False,
}  # fmt: skip
OF_POINT = case_of(POINT, "s", "fp32")


def derive(rows: list[Row]) -> list[Row]:
    return analyze.derive(POINT, rows)


def test_what_a_block_saves_is_found_by_hooks_as_derived(tmp_path: Path) -> None:
    """Names go by size and order; the shapes are those that the names say."""
    block = POINT | {"measures": "block", "precisions": ["fp32"], "heads": [2]}
    total, *tensors = derive(measured(tasks, block, tmp_path / "p.json"))[:6]
    assert total["saved_mib"] == total["predicted_mib"]
    names = {each.name for each in [*attention_tensors(OF_POINT), *feed_forward_tensors(OF_POINT)]}
    assert {each["name"] for each in tensors} <= names
    shapes = {each["name"]: (each["shape"], each["line"].split(":")[0]) for each in tensors}
    assert shapes["gate before silu"] == ("4 x 8 x 16", "model/transformer.py")
    assert shapes["masked scores"] == ("4 x 2 x 8 x 8", "model/attention.py")


def test_a_case_is_recorded_without_an_allocator(tmp_path: Path) -> None:
    rows = case_rows(OF_POINT, record=True, beside=tmp_path / "p.json")
    made = derive(rows)
    peaks = [row for row in made if row["measurement"] == "peak"]
    assert all(abs(row["predicted_peak_mib"] / row["peak_mib"] - 1) < 0.2 for row in peaks)
    steps = [row for row in made if row["measurement"] == "segment" and row["state_mib"] > 0]
    assert steps[0]["part"] == "optimizer" and steps[0]["step"] == "step 1"


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
    found = saved_by(lambda: run(stream), [*block.parameters(), core.future])
    assert sum(each["bytes"] for each in found.values()) == total_bytes(
        compiled_course_tensors(CASE)
    )
