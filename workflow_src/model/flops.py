"""Closed-form FLOPs of a step and its passes, and memory traffic of one forward pass."""

from typing import NamedTuple

from workflow_src.common.case import Case
from workflow_src.common.operators import SOFTMAX_FLOPS
from workflow_src.common.precisions import ELEMENT_BYTES, WIDE_BYTES

MATMUL_COMPONENTS = ("qkv", "scores", "values", "output", "feed_forward", "head")
"""Those whose FLOPs are matrix products: all but softmax."""

_MASK_BYTES = 1  # torch.bool


class Work(NamedTuple):
    """FLOPs and bytes moved of a component, summed over the layers."""

    component: str
    flops: int
    bytes: int


def forward_work(case: Case) -> list[Work]:
    """FLOPs and minimum memory traffic of each component.

    FLOPs: 2 m n k for an (m, k) by (k, n) product; SOFTMAX_FLOPS per element of the batch x heads x
    T x T matrix. Causality is not deducted: written-out attention computes the full square, and
    fused attention is counted the same. Other elementwise FLOPs (scaling, mask, SwiGLU's gate) are
    left out.

    Bytes: each operation reads its inputs once from device memory and writes its output once, as
    if caches kept nothing between operations. Scores covers product, scaling and mask; softmax see
    _softmax_bytes_each, without its row vectors, T times smaller. With sdpa, one kernel reads q, k,
    v and writes its output: q and k count under scores, v and output under values.

    Approximations: every other element has the size of the case's precision, although autocast
    keeps weights in float32; other copies made by autocast, such as the cast of softmax's result
    back for AV, and by changes of memory layout are left out.
    """
    flops, traffic = _flops(case), _bytes(case)
    return [Work(component, flops[component], traffic[component]) for component in flops]


def matmul_flops(case: Case) -> int:
    """FLOPs of a forward pass's matrix products, which MFU counts."""
    return sum(_flops(case)[component] for component in MATMUL_COMPONENTS)


def phase_flops(case: Case, phase: str) -> int:
    """Matrix-product FLOPs of one step of a phase; AdamW has no matrix products.

    Those of a backward pass are twice the forward pass's: each product C = A B needs two of the
    same size, dA = dC B^T and dB = A^T dC.
    """
    return (1 if phase == "forward" else 3) * matmul_flops(case)


def recomputed_flops(case: Case, sublayers: int) -> int:
    """FLOPs of matrix products that a step does twice if every so many sublayers are checkpointed.

    The last product of each group isn't done again: nothing that the backward pass needs comes
    after what it reads.
    """
    if not sublayers:
        return 0
    every = 2 * case.layers
    ends = [min(first + sublayers, every) - 1 for first in range(0, every, sublayers)]
    last = _last_products(case)
    return _block_flops(case) * case.layers - sum(last[end % 2] for end in ends)


def nested_recomputed_flops(case: Case) -> int:
    """The same with checkpoints of step_memory.halves."""
    _, feed_forward = _last_products(case)
    return _block_flops(case) * nested_passes(case.layers) - feed_forward * case.layers


def nested_passes(layers: int) -> int:
    """Forward passes of blocks that nested checkpoints repeat: about L (log2 L + 1) / 2.

    A checkpoint of n blocks first repeats the first n // 2, to find where the second half begins,
    and then has each half repeat what it needs; of a single block, that is its pass.
    """

    def inside(blocks: int) -> int:
        return 1 if blocks == 1 else blocks // 2 + nested_passes(blocks)

    return sum(inside(half) for half in (layers // 2, layers - layers // 2) if half)


def _block_flops(case: Case) -> int:
    head = 2 * case.batch * case.context * case.d_model * case.vocabulary
    return (matmul_flops(case) - head) // case.layers


def _last_products(case: Case) -> tuple[int, int]:
    """FLOPs of the last matrix product of a block's attention, and of its feed-forward."""
    per_column = 2 * case.batch * case.context * case.d_model
    return per_column * case.d_model, per_column * case.d_ff


def parameter_count(case: Case) -> int:
    """Parameters of the case's model."""
    attention = 4 * case.d_model**2
    feed_forward = 3 * case.d_model * case.d_ff
    norms = 2 * case.d_model
    ends = 2 * case.vocabulary * case.d_model + case.d_model
    return case.layers * (attention + feed_forward + norms) + ends


def _flops(case: Case) -> dict[str, int]:
    tokens, width = case.batch * case.context, case.d_model
    square = _square(case)
    return {
        "qkv": case.layers * 2 * tokens * width * 3 * width,
        "scores": case.layers * 2 * square * case.d_head,
        "softmax": case.layers * SOFTMAX_FLOPS * square,
        "values": case.layers * 2 * square * case.d_head,
        "output": case.layers * 2 * tokens * width * width,
        "feed_forward": case.layers * 3 * 2 * tokens * width * case.d_ff,
        "head": 2 * tokens * width * case.vocabulary,
    }


def _bytes(case: Case) -> dict[str, int]:
    tokens, width = case.batch * case.context, case.d_model
    wide = tokens * case.d_ff
    size, stream, square = ELEMENT_BYTES[case.precision], tokens * width, _square(case)
    if case.attention == "sdpa":
        core = {"scores": size * 2 * stream, "softmax": 0, "values": size * 2 * stream}
    else:
        product, scaling, mask = 2 * stream + square, 2 * square, 2 * square
        core = {
            "scores": size * (product + scaling + mask) + _MASK_BYTES * case.context**2,
            "softmax": _softmax_bytes_each(case) * square,
            "values": size * (square + 2 * stream),
        }
    silu, gate = 2 * wide, 3 * wide
    products = 2 * _product(tokens, width, case.d_ff) + _product(tokens, case.d_ff, width)
    per_block = {
        "qkv": size * _product(tokens, width, 3 * width),
        **core,
        "output": size * _product(tokens, width, width),
        "feed_forward": size * (products + silu + gate),
    }
    whole = {component: case.layers * amount for component, amount in per_block.items()}
    return whole | {"head": size * _product(tokens, width, case.vocabulary)}


def _softmax_bytes_each(case: Case) -> int:
    """Bytes that softmax moves per element of its matrix.

    Written out, it reads for the maximum, and reads and writes for the subtraction, in the case's
    precision; then it does both for the exponentials, reads for the sum, and does both for the
    division. These five, and torch's kernel, a GPU's autocast runs in float32. From fp16 that
    kernel widens by itself; from bf16, as before the exponentials, a cast does so. The Triton
    kernel takes either as it is. A CPU's autocast leaves softmax in the precision of the case.
    """
    precision, size = case.precision, ELEMENT_BYTES[case.precision]
    widens = case.device != "cpu" and size < WIDE_BYTES
    if case.attention == "triton_softmax" or (case.attention == "fused_softmax" and not widens):
        return 2 * size
    if case.attention == "fused_softmax":
        return WIDE_BYTES + size if precision == "fp16" else 3 * WIDE_BYTES + size
    return 4 * size + 6 * WIDE_BYTES if widens else 8 * size


def _product(m: int, k: int, n: int) -> int:
    """Elements that an (m, k) by (k, n) product reads and writes."""
    return m * k + k * n + m * n


def _square(case: Case) -> int:
    """Elements of one block's batch x heads x T x T matrix."""
    return case.batch * case.heads * case.context**2
