"""Kernels that are slower than they need to be, or that others would do without."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.blind.faults.registry import ON_CUDA, Place, fault
from benchmarks.blind.program import Program
from benchmarks.planted.loop import DEVICE


@fault("attention_written_out", "decoder", "encoder", "gated", "patches")
def attention_by_einsum(program: Program, place: Place, cost: float) -> None:
    """Attention by einsum, with a mask that is added."""

    def mix(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
        scores = torch.einsum("bhqd,bhkd->bhqk", query, key).float() * query.shape[-1] ** -0.5
        if is_causal:
            scores = scores + torch.full_like(scores[0, 0], -1e4).triu(1)
        return torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1).to(value.dtype), value)

    for attention in program.attentions:
        attention.mix = mix


@fault("elementwise_chain")
def normalized_by_hand(program: Program, place: Place, cost: float) -> None:
    """Each layer's output is normalized and squashed by single operators."""

    def squash(made: Tensor) -> Tensor:
        centered = made - 0.01
        scaled = centered * 0.9 + centered.square() * 1e-4
        return (scaled.tanh() * 0.5 + made * 0.5 + 1e-3).clamp(-50.0, 50.0)

    program.after_layers(range(len(program.model.layers)), squash)


@fault("float32_products")
def layers_without_autocast(program: Program, place: Place, cost: float) -> None:
    """Half of the layers run without autocast."""

    def wide(forward: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        def run(hidden: Tensor) -> Tensor:
            with torch.autocast(DEVICE.type, enabled=False):
                return forward(hidden.float())

        return run

    for layer in list(program.model.layers)[::2]:
        layer.forward = wide(layer.forward)


@fault("float64")
def table_of_doubles(program: Program, place: Place, cost: float) -> None:
    """A factor of each feature is a double."""

    def scale(made: Tensor) -> Tensor:
        factor = torch.ones(made.shape[-1], dtype=torch.float64, device=made.device)
        return (made * factor).to(made.dtype)

    program.after_layers(range(len(program.model.layers)), scale)


@fault("unaligned_products")
def odd_classes(program: Program, place: Place, cost: float) -> None:
    """The head has a number of classes that is no multiple of 8."""
    head = program.model.head
    last = head[-1] if isinstance(head, nn.Sequential) else head
    assert isinstance(last, nn.Linear)
    classes = 32 * last.out_features - 3 if ON_CUDA else 509
    odd = nn.Linear(last.in_features, classes, device=DEVICE)
    program.optimizer.add_param_group({"params": list(odd.parameters())})
    if isinstance(head, nn.Sequential):
        head[-1] = odd
    else:
        program.model.head = odd


@fault("layer_copies")
def copies_in_one_layer(program: Program, place: Place, cost: float) -> None:
    """One layer lays its output out anew, several times."""

    def copied(made: Tensor) -> Tensor:
        for _ in range(6):
            made = made.transpose(1, -1).contiguous().transpose(1, -1).contiguous()
        return made

    program.after_layers(place[:1], copied)


def _laid_out(program: Program, layout: torch.memory_format) -> None:
    program.model.to(memory_format=layout)  # type: ignore[call-overload]
    images = program.batch().contiguous(memory_format=layout)
    program.batch = lambda: images


@fault("convolution_layout", "residual")
def channels_first(program: Program, place: Place, cost: float) -> None:
    """Images and weights lie channel by channel."""
    _laid_out(program, torch.contiguous_format)


@fault("norm_layout", "denoiser")
def channels_last(program: Program, place: Place, cost: float) -> None:
    """Images and weights lie pixel by pixel, a layout that norms over groups don't know."""
    _laid_out(program, torch.channels_last)


@fault("bias_before_batch_norm", "residual")
def convolutions_with_bias(program: Program, place: Place, cost: float) -> None:
    """Convolutions before batch norm have a bias."""
    for layer in program.model.layers.modules():
        if isinstance(layer, nn.Conv2d):
            layer.bias = nn.Parameter(torch.zeros(layer.out_channels, device=DEVICE))
            program.optimizer.add_param_group({"params": [layer.bias]})
