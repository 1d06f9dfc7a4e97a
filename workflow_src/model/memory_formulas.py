"""Closed-form parameters, FLOPs and memory of a case, before anything has run.

Memory is what the allocator hands out for tensors; library workspaces, the tables of the rotary
embedding and the causal mask are left out.
"""

from typing import Any

from workflow_src.common.case import Case
from workflow_src.common.traffic import ELEMENT_BYTES
from workflow_src.common.units import MIB
from workflow_src.model.flops import (
    backward_flops,
    matmul_flops,
    parameter_count,
    total_forward_flops,
)

WEIGHT_BYTES = GRADIENT_BYTES = 4
OPTIMIZER_BYTES = 8
"""AdamW keeps two moments of each parameter, in float32 like the weights."""

STATE_BYTES = WEIGHT_BYTES + GRADIENT_BYTES + OPTIMIZER_BYTES


def embedding_count(case: Case) -> int:
    """Parameters of the embedding table, which is used for lookup, not in matrix products."""
    return case.vocabulary * case.d_model


def matmul_weight_count(case: Case) -> int:
    """Parameters used in matrix products: all but the embedding table and the norms' gains."""
    gains = (2 * case.layers + 1) * case.d_model
    return parameter_count(case) - embedding_count(case) - gains


def phase_flops(case: Case, phase: str) -> int:
    """Matrix-product FLOPs of one step of a phase; AdamW has no matrix products."""
    backward = 0 if phase == "forward" else backward_flops(case)
    return matmul_flops(case) + backward


def rule_flops(case: Case, parameters: int, per_token: int) -> int:
    """The rule of thumb: 2 (forward) or 6 (training) FLOPs per parameter and token.

    After Kaplan et al. 2020, "Scaling laws for neural language models", section 2.1.
    """
    return per_token * parameters * case.batch * case.context


def activation_bytes(case: Case) -> int:
    """Bytes that autograd and the step keep from the forward pass until the backward pass.

    Derived from workflow_src/model operation by operation, from what PyTorch saves for each
    derivative; a tensor saved by two operations counts once. M = batch x T tokens,
    s = M x d_model, w = M x d_ff, q = batch x heads x T x T, r = batch x heads x T,
    v = M x vocabulary.

    float32, elements of 4 bytes. Each block: each of two norms keeps its input, the normalized
    input and its output (3 s), and a scale per token (M); rotated q, k and a contiguous v (3 s);
    scores, exponentials and weights (3 q), the rows' maxima and sums (2 r); the input of the
    output projection (s); the gate's input, silu's result, the other branch and their product
    (4 w). Total: 10 s + 2 M + 3 q + 2 r + 4 w. Outside the blocks: the last norm (3 s + M), logits
    and log-probabilities (2 v) and the loss's total weight (1).

    bf16 and fp16 (autocast on CUDA), in bytes: the residual stream and normalized inputs stay
    float32 (4 s each), inputs of linear layers are cast (2 s each time: once for qkv, twice for
    the two branches of the gate), q, k, v and the projection's input are 2 s each; scores 2 q,
    exponentials 4 q since exp runs in float32, weights cast to 2 q; maxima 2 r, sums 4 r;
    4 tensors of 2 w. Total: 30 s + 8 M + 8 q + 6 r + 8 w. Outside the blocks: 10 s + 4 M + 8 v + 4,
    and autocast's copies of the matrix-product weights, 2 bytes each. The 8 v: logits (2), their
    log-probabilities (2), which torch's cross entropy computes in the logits' own type, and those
    cast to float32 for the likelihood (4).

    With a batch of one, v stays a view, which keeps all of q, k and v before rotation (2 s more).
    Raises ValueError for any attention but naive.
    """
    if case.attention != "naive":
        raise ValueError(f"activations are known for attention naive, not {case.attention}")
    tokens = case.batch * case.context
    rows = case.batch * case.heads * case.context
    stream, wide, square = tokens * case.d_model, tokens * case.d_ff, rows * case.context
    logits = tokens * case.vocabulary
    views = 2 * stream if case.batch == 1 else 0
    if ELEMENT_BYTES[case.precision] == 4:
        block = 4 * (10 * stream + 2 * tokens + 3 * square + 2 * rows + 4 * wide + views)
        return case.layers * block + 4 * (3 * stream + tokens + 2 * logits + 1)
    block = 30 * stream + 8 * tokens + 8 * square + 6 * rows + 8 * wide + 2 * views
    casts = 2 * matmul_weight_count(case)
    return case.layers * block + 10 * stream + 4 * tokens + 8 * logits + 4 + casts


def _forward_bytes(case: Case) -> int:
    """Peak bytes of a forward pass without gradients, besides the weights.

    The largest of: softmax (residual stream, its normalized copy, q, k, v before rotation, q and k
    after it, and three T x T matrices per head in float32), the gate (three tensors of width d_ff)
    and the logits.
    """
    size = ELEMENT_BYTES[case.precision]
    tokens = case.batch * case.context
    stream, wide = tokens * case.d_model, tokens * case.d_ff
    square = case.batch * case.heads * case.context**2
    softmax = (8 + 5 * size) * stream + 12 * square
    gate = 8 * stream + 3 * size * wide
    head = 4 * stream + size * tokens * case.vocabulary
    casts = 0 if size == 4 else 2 * matmul_weight_count(case)
    return casts + max(softmax, gate, head)


def peak_bytes(case: Case, phase: str) -> int:
    """Predicted peak memory of a phase, in bytes.

    forward: weights + the forward pass's peak. With a backward pass: weights + optimizer state
    (train_step) + the larger of memory at its start and at its end. At the start: all activations
    and two gradients of the logits in float32. At the end: all gradients, and in train_step the
    square root of the largest parameter's second moment. In between, activations are assumed to be
    freed at the same steady rate at which gradients are allocated.
    """
    parameters = parameter_count(case)
    weights = WEIGHT_BYTES * parameters
    if phase == "forward":
        return weights + _forward_bytes(case)
    begin = activation_bytes(case) + 8 * case.batch * case.context * case.vocabulary
    end = GRADIENT_BYTES * parameters
    if phase == "forward_backward":
        return weights + max(begin, end)
    largest = case.d_model * max(3 * case.d_model, case.d_ff, case.vocabulary)
    return weights + OPTIMIZER_BYTES * parameters + max(begin, end + 4 * largest)


def model_row(case: Case) -> dict[str, Any]:
    """All results of the formulas for a case, as a row."""
    parameters = parameter_count(case)
    without = parameters - embedding_count(case)
    forward = total_forward_flops(case)
    return {
        "parameters": parameters,
        "parameters_without_embedding": without,
        "forward_flops": forward,
        "backward_flops": backward_flops(case),
        "forward_rule_flops": rule_flops(case, without, 2),
        "forward_rule_all_flops": rule_flops(case, parameters, 2),
        "step_rule_flops": rule_flops(case, without, 6),
        "step_rule_all_flops": rule_flops(case, parameters, 6),
        "weights_mib": WEIGHT_BYTES * parameters / MIB,
        "gradients_mib": GRADIENT_BYTES * parameters / MIB,
        "optimizer_mib": OPTIMIZER_BYTES * parameters / MIB,
        "activations_mib": activation_bytes(case) / MIB,
    }
