"""The peak of a training step's memory, and what checkpoints change of it.

A backward pass goes through the sublayers (attention and feed-forward of each block) from the last
to the first. At each there are: what those before it have saved, or the inputs of them that
checkpoints have kept; its own tensors and gradients at its worst moment; the gradients of the
weights behind it. The peak is the worst of these, of the loss and of the optimizer.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from workflow_src.common.case import Case
from workflow_src.common.components import PER_BLOCK
from workflow_src.common.precisions import ELEMENT_BYTES
from workflow_src.model.flops import parameter_count
from workflow_src.model.saved_tensors import (
    WIDE,
    attention_tensors,
    feed_forward_tensors,
    stream_bytes,
    total_bytes,
)

OPTIMIZER_BYTES = 2 * WIDE
"""AdamW keeps two moments of each parameter, in float32 like the weights."""


class Kept(NamedTuple):
    """What checkpoints leave when the backward pass reaches a sublayer.

    since: the first sublayer whose tensors are all there again; inputs: the residual streams kept
    of what lies before it.
    """

    since: int
    inputs: int


Checkpoints = Sequence[Kept]
"""By a sublayer's number; the last is at the loss."""


def each(layers: int, sublayers: int) -> Checkpoints:
    """Every so many sublayers are checkpointed as one, of which the input is kept; 0: none is.

    Chen et al. 2016, "Training deep nets with sublinear memory cost", section 3.
    """
    every = PER_BLOCK * layers
    if not sublayers:
        return [Kept(0, 0)] * (every + 1)
    groups = (sublayer // sublayers for sublayer in range(every))
    at_loss = Kept(every, math.ceil(every / sublayers))
    return [*(Kept(group * sublayers, group) for group in groups), at_loss]


def halves(layers: int) -> Checkpoints:
    """Each half of the blocks is checkpointed, and each half of that, down to one block.

    Of the halves that a block lies in, the second ones have an input of their own: at most log2 L.
    Chen et al. 2016, section 4.
    """
    kept: list[Kept] = []
    for block in range(layers):
        low, high, inputs = 0, layers, 0
        while high - low > 1:
            middle = low + (high - low) // 2
            second = block >= middle
            low, high, inputs = (middle, high, inputs + 1) if second else (low, middle, inputs)
        kept += [Kept(block * PER_BLOCK, inputs)] * PER_BLOCK
    return [*kept, Kept(PER_BLOCK * layers, min(layers, 2))]


class Sublayer(NamedTuple):
    """Bytes of a sublayer: saved, at its backward pass's worst moment, and of its gradients."""

    saved: int
    worst: int
    gradients: int


def sublayers(case: Case) -> tuple[Sublayer, Sublayer]:
    """Attention and feed-forward of a block of the case's model.

    The worst moments, with s = batch x T x d_model, q = batch x heads x T x T, r = batch x heads x
    T, w = batch x T x d_ff, M = batch x T. Feed-forward: gradients of the gate and of what goes
    into it beside all that is saved, the incoming gradient and that of the last weight; the copy of
    that weight is gone. Attention: in the derivative of exponentials / sums, seven matrices of
    scores (under autocast one of 2 bytes and six of 4), with seven residual streams (four of 2
    bytes, three of 4).
    """
    size = ELEMENT_BYTES[case.precision]
    attention, feed_forward = attention_tensors(case), feed_forward_tensors(case)
    tokens, rows = case.batch * case.context, case.batch * case.heads * case.context
    stream, square, wide = tokens * case.d_model, rows * case.context, tokens * case.d_ff
    weight, gains = case.d_model * case.d_ff, WIDE * case.d_model
    half = size < WIDE
    copies = 3 * case.d_model**2 * size if half else 0
    scores, streams = (26, 20) if half else (28, 28)
    return (
        Sublayer(
            total_bytes(attention),
            scores * square + streams * stream + WIDE * tokens + (WIDE + size) * rows + copies,
            WIDE * 4 * case.d_model**2 + gains,
        ),
        Sublayer(
            total_bytes(feed_forward),
            total_bytes(feed_forward)
            + 2 * size * wide
            + stream_bytes(case)
            + (WIDE - size if half else WIDE) * weight,
            WIDE * 3 * weight + gains,
        ),
    )


def step_peak_bytes(case: Case, checkpoints: Checkpoints) -> int:
    """Predicted peak bytes of a training step with AdamW written out.

    The optimizer's: all gradients, and the square root of the largest second moment.
    """
    largest = case.d_model * max(3 * case.d_model, case.d_ff, case.vocabulary)
    optimizer = WIDE * (parameter_count(case) + largest)
    return weights_and_state_bytes(case) + max(backward_peak_bytes(case, checkpoints), optimizer)


def weights_and_state_bytes(case: Case) -> int:
    """Bytes of the weights and AdamW's moments."""
    return (WIDE + OPTIMIZER_BYTES) * parameter_count(case)


def backward_peak_bytes(case: Case, checkpoints: Checkpoints) -> int:
    """The most bytes of a forward and backward pass, besides weights and moments."""
    parts, every = sublayers(case), PER_BLOCK * case.layers

    def left(kept: Kept, before: int) -> int:
        """Bytes that the sublayers before one have left."""
        saved = (parts[number % PER_BLOCK].saved for number in range(kept.since, before))
        return sum(saved) + kept.inputs * stream_bytes(case)

    peaks = [left(checkpoints[every], every) + _loss_bytes(case)]
    gradients = WIDE * (case.d_model * case.vocabulary + case.d_model)
    for number in reversed(range(every)):
        part = parts[number % PER_BLOCK]
        peaks.append(left(checkpoints[number], number) + part.worst + gradients)
        gradients += part.gradients
    return max(peaks)


def _loss_bytes(case: Case) -> int:
    """Bytes besides the blocks' where the loss is differentiated.

    The last norm and the head's input; log-probabilities, under autocast also in float32, and two
    gradients as large, of which the second is made when that copy is gone; under autocast the copy
    of the head's weights.
    """
    half = ELEMENT_BYTES[case.precision] < WIDE
    tokens = case.batch * case.context
    stream, logits = tokens * case.d_model, tokens * case.vocabulary
    head = 2 * case.d_model * case.vocabulary if half else 0
    return (10 if half else 12) * (stream + logits) + WIDE * (tokens + 1) + head
