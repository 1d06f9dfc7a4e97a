"""What one block saves for its backward pass, tensor by tensor, in the order of saving.

Derived operation by operation from what PyTorch saves for each derivative; a tensor that two save
counts once. Parameters and buffers (causal mask, rotary tables) don't count; autocast's copies of
parameters do.
"""

from collections.abc import Iterable
from typing import NamedTuple

from workflow_src.common.case import Case
from workflow_src.common.precisions import ELEMENT_BYTES

WIDE = 4
"""Bytes of an element of the residual stream, of norms and of weights: float32 in any precision."""


class SavedTensor(NamedTuple):
    """A tensor that an operation saves."""

    name: str
    bytes: int


def total_bytes(tensors: Iterable[SavedTensor]) -> int:
    """Bytes of several tensors."""
    return sum(each.bytes for each in tensors)


def stream_bytes(case: Case) -> int:
    """Bytes of one residual-stream activation: batch x T x d_model in float32."""
    return case.batch * case.context * case.d_model * WIDE


def attention_tensors(case: Case) -> list[SavedTensor]:
    """What a block's first half saves: the norm, and attention written out.

    Under autocast on CUDA (bf16, fp16) linear layers take copies of their inputs and weights, and
    the exponentials and sums of softmax are float32. With a batch of one, v stays a view, which
    keeps q, k and v before rotation. Raises ValueError for any attention but naive.
    """
    if case.attention != "naive":
        raise ValueError(f"activations are known for attention naive, not {case.attention}")
    size = ELEMENT_BYTES[case.precision]
    tokens, rows = case.batch * case.context, case.batch * case.heads * case.context
    stream, square = tokens * case.d_model, rows * case.context
    return [
        *_norm(tokens, case.d_model),
        SavedTensor("input of q/k/v projections", size * stream),
        SavedTensor("rotated keys", size * stream),
        SavedTensor("rotated queries", size * stream),
        SavedTensor("masked scores", size * square),
        SavedTensor("row maxima", size * rows),
        SavedTensor("exponentials", WIDE * square),
        SavedTensor("row sums", WIDE * rows),
        SavedTensor("attention weights", size * square),
        SavedTensor("values", size * (3 if case.batch == 1 else 1) * stream),
        SavedTensor("input of output projection", size * stream),
        *_copies(case, 3 * case.d_model**2, case.d_model**2),
    ]


def feed_forward_tensors(case: Case) -> list[SavedTensor]:
    """What a block's second half saves: the norm and SwiGLU, whose first two layers share an input;
    under autocast, each takes a copy of its own.
    """
    size, tokens = ELEMENT_BYTES[case.precision], case.batch * case.context
    stream, wide, weight = tokens * case.d_model, tokens * case.d_ff, case.d_model * case.d_ff
    inputs = ("input of gate and up",) if size == WIDE else ("input of gate", "input of up")
    names = ("gate before silu", "gate", "up", "input of down")
    return [
        *_norm(tokens, case.d_model),
        *(SavedTensor(name, size * stream) for name in inputs),
        *(SavedTensor(name, size * wide) for name in names),
        *_copies(case, *[weight] * 3),
    ]


def block_tensors(case: Case) -> list[SavedTensor]:
    """What a block saves."""
    return [*attention_tensors(case), *feed_forward_tensors(case)]


def _norm(tokens: int, width: int) -> list[SavedTensor]:
    return [
        SavedTensor("residual stream", WIDE * tokens * width),
        SavedTensor("normalized stream", WIDE * tokens * width),
        SavedTensor("scale of each token", WIDE * tokens),
    ]


def _copies(case: Case, *elements: int) -> list[SavedTensor]:
    """Autocast's copies of weights of so many elements each."""
    size = ELEMENT_BYTES[case.precision]
    return [SavedTensor("copied weights", size * each) for each in elements if size < WIDE]


RECOMPUTED = ("normalized stream", "exponentials", "gate")
"""What torch.compile's partitioner computes again, as elementwise operations on what is saved."""

COMPILED = {
    "masked scores": "scores",
    "rotated keys": "rotated queries",
    "rotated queries": "rotated keys",
}
"""What compiled code saves in place of a tensor of the same size."""


def compiled_block_tensors(case: Case) -> list[SavedTensor]:
    """What a block in float32 saves that torch.compile has compiled, forward and backward together.

    Its partitioner keeps what products read and what reductions gave. So of a norm stay its input
    and its scale per token; of softmax the product it starts from, its row maxima and sums, and its
    result; of the gate both products and their product, without silu. The causal mask and rotated
    pairs are elementwise.
    """
    return [
        SavedTensor(COMPILED.get(each.name, each.name), each.bytes)
        for each in block_tensors(case)
        if each.name not in RECOMPUTED
    ]
