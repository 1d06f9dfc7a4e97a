"""Programs without a fault: five of this folder's loops, and three models of other people."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.planted.faults import Fault
from benchmarks.planted.loop import DEVICE, DEVICE_BOUND, HOST, Loop, Size, changed, clean_loop


class Images(nn.Module):
    """A small convolutional network, channels last."""

    def __init__(self, width: int) -> None:
        super().__init__()
        widths = [3, width, 2 * width, 4 * width]
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [
                nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(),
            ]
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(4 * width, 1000)

    def forward(self, images: Tensor) -> Tensor:
        """Logits of images (batch, 3, height, width)."""
        logits: Tensor = self.head(self.layers(images))
        return logits


def _classified(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    with torch.autocast(DEVICE.type, torch.bfloat16):
        logits = model(inputs)
    return functional.cross_entropy(logits.float(), targets)


def _of_images(model: nn.Module, size: Size, pixels: int) -> Loop:
    model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    images = torch.randn(size.batch, 3, pixels, pixels, device=DEVICE)
    images = images.to(memory_format=torch.channels_last)
    targets = torch.randint(1000, (size.batch,), device=DEVICE)
    loop = clean_loop(size, model)
    torch.backends.cudnn.benchmark = True
    return changed(loop, batch=lambda: (images, targets), loss=_classified)


def convolutions(size: Size) -> Loop:
    """This folder's own convolutional network."""
    return _of_images(Images(64), replace(size, batch=64), 128)


def resnet(size: Size) -> Loop:
    """torchvision's ResNet-50."""
    from torchvision.models import resnet50

    return _of_images(resnet50(), replace(size, batch=64), 224)


def _causal(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    with torch.autocast(DEVICE.type, torch.bfloat16):
        loss: Tensor = model(input_ids=inputs, labels=targets).loss
    return loss


def gpt2(size: Size) -> Loop:
    """The GPT-2 of transformers, small."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=size.vocabulary, n_layer=4, n_positions=size.context, attn_pdrop=0.0,
        resid_pdrop=0.0, embd_pdrop=0.0,
    )  # fmt: skip
    return changed(clean_loop(size, GPT2LMHeadModel(config)), loss=_causal)


def llama(size: Size) -> Loop:
    """The Llama of transformers, of this size."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=size.vocabulary, hidden_size=size.width, intermediate_size=4 * size.width,
        num_hidden_layers=size.layers, num_attention_heads=size.heads,
        max_position_embeddings=size.context,
    )  # fmt: skip
    return changed(clean_loop(size, LlamaForCausalLM(config)), loss=_causal)


def pinned_batches(size: Size) -> Loop:
    """Small batches from pinned memory, without waiting for them."""
    tokens = torch.randint(size.vocabulary, (size.batch, size.context))
    tokens = tokens.pin_memory() if DEVICE.type == "cuda" else tokens

    def sent() -> tuple[Tensor, Tensor]:
        moved = tokens.to(DEVICE, non_blocking=True)
        return moved, moved

    return changed(clean_loop(size), batch=sent)


def _named(make: Callable[[Size], Loop], size: Size, pace: str) -> Fault:
    return Fault(f"clean_{make.__name__}-{pace}", size, make)


WIDE = replace(DEVICE_BOUND, width=2048, heads=16, layers=2)

CLEAN = [
    Fault("clean_decoder-host", HOST, clean_loop),
    Fault("clean_decoder-device", DEVICE_BOUND, clean_loop),
    Fault("clean_wide_decoder-device", WIDE, clean_loop),
    _named(pinned_batches, DEVICE_BOUND, "device"),
    _named(convolutions, DEVICE_BOUND, "device"),
    _named(resnet, replace(DEVICE_BOUND, micro_batches=1), "device"),
    _named(gpt2, replace(HOST, width=768, batch=8, context=256), "host"),
    _named(llama, DEVICE_BOUND, "device"),
]  # fmt: skip
