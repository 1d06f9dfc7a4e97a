"""FLOPs of a step by torch's own counter, for models that no formula of ours describes."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

Shape = Sequence[int]

WITH_GRADIENTS = 2
"""A backward pass has two products of the size of each forward one: of the input, of the weight."""


def counted_flops(step: Callable[[], object]) -> dict[str, int]:
    """FLOPs of one step by operator, as the profiler spells them: {"aten::mm": 4096}.

    Of operators that the counter knows (products, convolutions, fused attention) and ADDED; all
    else counts nothing.
    """
    here = torch.ops.aten
    known = {getattr(here, name): flops for name, flops in ADDED.items() if hasattr(here, name)}
    with FlopCounterMode(display=False, custom_mapping=known) as counter:
        step()
    found = counter.get_flop_counts().get("Global", {})
    return {str(operator).replace(".", "::", 1): int(flops) for operator, flops in found.items()}


def _grouped(first: Shape, second: Shape, *_: Any, **__: Any) -> int:
    """2 m n k, each row, column or term in one group; by group where both have one."""
    groups = first[0] if len(first) == len(second) == 3 else 1
    return 2 * groups * first[-2] * first[-1] * second[-1]


def _recurrent(given: Shape, weights: Sequence[Shape], *_: Any, times: int = 1, **__: Any) -> int:
    """2 per weight of a matrix, element of the sequence and sample, that many times.

    given: (..., width), whose other axes are sequence and batch, or both packed.
    """
    matrices = sum(prod(shape) for shape in weights if len(shape) == 2)
    return times * 2 * prod(given[:-1]) * matrices


def _recurrent_layer(given: Shape, *weights: Shape, times: int = 1, **__: Any) -> int:
    return _recurrent(given, weights[:2], times=times)


def _convolution_backward(
    gradient: Shape, given: Shape, weight: Shape, *more: Any, **__: Any
) -> int:
    """Of the input's gradient, of the weight's, or of both: as many as the convolution had.

    Each element of the side that it reads (transposed) or makes meets a weight's kernel for each
    channel of a group. torch's counter has the weight's gradient of every channel with every other
    one, whatever the groups.
    """
    *_, transposed, _, _, wanted = more
    shape = given if transposed else gradient
    return int(sum(wanted[:2])) * 2 * shape[0] * prod(shape[2:]) * prod(weight)


def _self_attention(
    given: Shape, _key: Shape, _value: Shape, width: int, _heads: int, *rest: Any, **__: Any
) -> int:
    """Of the products of a layer of attention with itself; given: (batch, T, width)."""
    weights = sum(prod(shape) for shape in (rest[0], rest[2]))
    return int(2 * prod(given[:-1]) * (weights + 2 * given[-2] * width))


def _encoder_layer(given: Shape, width: int, heads: int, *rest: Any, **__: Any) -> int:
    """Of that and of the two layers that follow it."""
    attention = _self_attention(given, given, given, width, heads, *rest)
    hidden = sum(prod(shape) for shape in rest[11:15:2])
    return int(attention + 2 * prod(given[:-1]) * hidden)


ADDED: dict[str, Callable[..., int]] = {
    "convolution_backward": _convolution_backward,
    "_native_multi_head_attention": _self_attention,
    "_transformer_encoder_layer_fwd": _encoder_layer,
    "_grouped_mm": _grouped,
    "_scaled_grouped_mm": _grouped,
    "_cudnn_rnn": _recurrent,
    "_cudnn_rnn_backward": partial(_recurrent, times=WITH_GRADIENTS),
    "mkldnn_rnn_layer": _recurrent_layer,
    "mkldnn_rnn_layer_backward": partial(_recurrent_layer, times=WITH_GRADIENTS),
    "_scaled_dot_product_flash_attention_for_cpu": (
        lambda q, k, v, *_, **__: int(sdpa_flop_count(q, k, v))
    ),
    "_scaled_dot_product_flash_attention_for_cpu_backward": (
        lambda gradient, q, k, v, *_, **__: int(sdpa_backward_flop_count(gradient, q, k, v))
    ),
}
"""FLOPs of operators that torch's counter (2.13) lacks or has wrong, by their inputs' shapes."""
