"""Closed-form memory of a case, and all formulas as one row.

Memory is what the allocator hands out for tensors; library workspaces, rotary tables and the causal
mask are left out.
"""

from typing import Any

from workflow_src.common.case import Case
from workflow_src.common.precisions import ELEMENT_BYTES
from workflow_src.common.units import MIB
from workflow_src.model import step_memory
from workflow_src.model.flops import forward_work, matmul_flops, parameter_count
from workflow_src.model.saved_tensors import WIDE, block_tensors, total_bytes


def matmul_weight_count(case: Case) -> int:
    """Parameters of matrix products: all but the embedding and the norms' gains."""
    gains = (2 * case.layers + 1) * case.d_model
    return parameter_count(case) - case.vocabulary * case.d_model - gains


def activation_bytes(case: Case) -> int:
    """Bytes that autograd and the step keep from the forward pass until the loss is known.

    What each block saves (saved_tensors.py) and, with M = batch x T, s = M x d_model and v = M x
    vocabulary: the last norm and its output (3 s + M), logits and log-probabilities (2 v) and the
    loss's total weight (1), 4 bytes each. bf16 and fp16 (autocast on CUDA), in bytes: 10 s + 4 M +
    8 v + 4, and a copy of the head's weights, 2 bytes each. The 8 v: logits (2), their
    log-probabilities (2), which torch's cross entropy computes in the logits' own type, and those
    cast to float32 for the likelihood (4).

    Raises ValueError for any attention but naive.
    """
    tokens = case.batch * case.context
    stream, logits = tokens * case.d_model, tokens * case.vocabulary
    blocks = case.layers * total_bytes(block_tensors(case))
    if ELEMENT_BYTES[case.precision] == WIDE:
        return blocks + 12 * stream + WIDE * (tokens + 1) + 8 * logits
    head = 2 * case.vocabulary * case.d_model
    return blocks + 10 * stream + WIDE * (tokens + 1) + 8 * logits + head


def _forward_bytes(case: Case) -> int:
    """Peak bytes of a forward pass without gradients, besides the weights.

    The largest of: softmax (residual stream, its normalized copy, q, k, v before rotation, q and k
    after it, and three T x T matrices per head in float32), the gate (three tensors of width d_ff)
    and the logits. Under autocast with the copies of weights made so far.
    """
    size = ELEMENT_BYTES[case.precision]
    tokens = case.batch * case.context
    stream, wide = tokens * case.d_model, tokens * case.d_ff
    square = case.batch * case.heads * case.context**2
    softmax = (8 + 5 * size) * stream + 12 * square
    gate = 8 * stream + 3 * size * wide
    head = 4 * stream + size * tokens * case.vocabulary
    if size == WIDE:
        return max(softmax, gate, head)
    # Neither the output projection of that block has run yet, nor its feed-forward, nor the head.
    copies, down = 2 * matmul_weight_count(case), case.d_model * case.d_ff
    before_head = copies - 2 * case.vocabulary * case.d_model
    return max(
        before_head - 2 * (case.d_model**2 + 3 * down) + softmax,
        before_head - 2 * down + gate,
        copies + head + 2 * stream,
    )


def peak_bytes(case: Case, phase: str) -> int:
    """Predicted peak memory of a phase, in bytes."""
    weights = WIDE * parameter_count(case)
    if phase == "forward":
        return weights + _forward_bytes(case)
    checkpoints = step_memory.each(case.layers, 0)
    if phase == "forward_backward":
        return weights + max(step_memory.backward_peak_bytes(case, checkpoints), weights)
    return step_memory.step_peak_bytes(case, checkpoints)


def model_row(case: Case) -> dict[str, Any]:
    """All formulas of a case as a row.

    The rules: 2 (forward) or 6 (training) FLOPs per parameter and token (Kaplan et al. 2020,
    "Scaling laws for neural language models", section 2.1).
    """
    parameters, tokens = parameter_count(case), case.batch * case.context
    without = parameters - case.vocabulary * case.d_model
    return {
        "parameters": parameters,
        "parameters_without_embedding": without,
        "forward_flops": sum(work.flops for work in forward_work(case)),
        "backward_flops": 2 * matmul_flops(case),
        "forward_rule_flops": 2 * without * tokens,
        "step_rule_flops": 6 * without * tokens,
        "step_rule_all_flops": 6 * parameters * tokens,
        "weights_mib": WIDE * parameters / MIB,
        "gradients_mib": WIDE * parameters / MIB,
        "optimizer_mib": step_memory.OPTIMIZER_BYTES * parameters / MIB,
        "activations_mib": activation_bytes(case) / MIB,
    }
