"""Small models of several kinds, each a stem, layers that are alike, and a head."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.planted.loop import DEVICE, marked

CLASSES = 512
PATCH = 16


@dataclass(frozen=True)
class Size:
    """length: tokens, or pixels of an image's side."""

    width: int
    layers: int
    batch: int
    length: int


TINY = Size(16, 2, 2, 32)
"""For trying a kind on a CPU."""


class Model(nn.Module):
    """Inputs to logits (..., CLASSES); a range for each layer."""

    def __init__(self, stem: nn.Module, layers: list[nn.Module], head: nn.Module) -> None:
        super().__init__()
        self.stem, self.layers, self.head = stem, nn.ModuleList(layers), head

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits of a batch."""
        hidden = self.stem(inputs)
        for number, layer in enumerate(self.layers):
            with marked(f"layer.{number}"):
                hidden = layer(hidden)
        with marked("head"):
            logits: Tensor = self.head(hidden)
        return logits


class Attention(nn.Module):
    """Self-attention of (batch, tokens, width); `mix` may be another function."""

    def __init__(self, width: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = max(2, width // 64), causal
        self.joint, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mix: Callable[..., Tensor] = functional.scaled_dot_product_attention

    def forward(self, hidden: Tensor) -> Tensor:
        """The same shape."""
        batch, tokens, width = hidden.shape
        joint = self.joint(hidden).view(batch, tokens, 3, self.heads, width // self.heads)
        query, key, value = joint.permute(2, 0, 3, 1, 4)
        mixed = self.mix(query, key, value, is_causal=self.causal)
        joined: Tensor = self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return joined


class Gated(nn.Module):
    """SwiGLU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(2 * width, width)

    def forward(self, hidden: Tensor) -> Tensor:
        """The same shape."""
        gate, value = self.up(hidden).chunk(2, dim=-1)
        narrowed: Tensor = self.down(functional.silu(gate) * value)
        return narrowed


class Residual(nn.Module):
    """Adds what each part makes of its input."""

    def __init__(self, *parts: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, hidden: Tensor) -> Tensor:
        """The same shape."""
        for part in self.parts:
            hidden = hidden + part(hidden)
        return hidden


class Across(nn.Module):
    """A module over tokens instead of features."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, hidden: Tensor) -> Tensor:
        """(batch, tokens, width) to the same."""
        across: Tensor = self.inner(hidden.transpose(1, 2))
        return across.transpose(1, 2)


class Recurrent(nn.Module):
    """One layer of an LSTM, without its state."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cells = nn.LSTM(width, width, batch_first=True)

    def forward(self, hidden: Tensor) -> Tensor:
        """(batch, tokens, width) to the same."""
        # Few CPUs have an LSTM in bfloat16.
        with torch.autocast("cpu", enabled=False):
            states: Tensor = self.cells(hidden if hidden.is_cuda else hidden.float())[0]
        return states


class Flat(nn.Module):
    """Images as rows of pixels: (batch, width, height, width) to (batch, pixels, width)."""

    def forward(self, image: Tensor) -> Tensor:
        """Pixels as tokens."""
        return image.flatten(2).transpose(1, 2)


def feed_forward(width: int, inner: int, activation: type[nn.Module] = nn.GELU) -> nn.Module:
    """Two linear layers."""
    return nn.Sequential(nn.Linear(width, inner), activation(), nn.Linear(inner, width))


def transformer(width: int, causal: bool) -> nn.Module:
    """Attention and feed-forward with norms."""
    attention = nn.Sequential(nn.LayerNorm(width), Attention(width, causal))
    return Residual(attention, nn.Sequential(nn.LayerNorm(width), feed_forward(width, 4 * width)))


def gated(width: int) -> nn.Module:
    """The same with RMS norms and SwiGLU."""
    attention = nn.Sequential(nn.RMSNorm(width), Attention(width, causal=True))
    return Residual(attention, nn.Sequential(nn.RMSNorm(width), Gated(width)))


def mixing(width: int, tokens: int) -> nn.Module:
    """Feed-forward over tokens, then over features."""
    return Residual(Across(feed_forward(tokens, 2 * tokens)), feed_forward(width, 4 * width))


def convolutions(width: int, norm: Callable[[int], nn.Module]) -> nn.Module:
    """Two convolutions with norms."""

    def one() -> list[nn.Module]:
        return [nn.Conv2d(width, width, 3, padding=1, bias=False), norm(width), nn.SiLU()]

    return Residual(nn.Sequential(*one(), *one()))


def _of_tokens(layer: Callable[[Size], nn.Module]) -> Callable[[Size], Model]:
    def make(size: Size) -> Model:
        stem, head = nn.Embedding(CLASSES, size.width), nn.Linear(size.width, CLASSES)
        return Model(stem, [layer(size) for _ in range(size.layers)], head)

    return make


def _of_images(layer: Callable[[Size], nn.Module]) -> Callable[[Size], Model]:
    def make(size: Size) -> Model:
        stem = nn.Conv2d(3, size.width, 3, padding=1)
        head = nn.Sequential(nn.AdaptiveAvgPool2d(2), Flat(), nn.Linear(size.width, CLASSES))
        return Model(stem, [layer(size) for _ in range(size.layers)], head)

    return make


def _patches(size: Size) -> Model:
    stem = nn.Sequential(nn.Conv2d(3, size.width, PATCH, PATCH), Flat())
    layers = [transformer(size.width, causal=False) for _ in range(size.layers)]
    return Model(stem, layers, nn.Linear(size.width, CLASSES))


def _ranking(size: Size) -> Model:
    stem = nn.EmbeddingBag(CLASSES, size.width)
    layers: list[nn.Module] = [
        Residual(
            nn.Sequential(nn.LayerNorm(size.width), feed_forward(size.width, size.width, nn.ReLU))
        )
        for _ in range(size.layers)
    ]
    return Model(stem, layers, nn.Linear(size.width, CLASSES))


@dataclass(frozen=True)
class Kind:
    """A kind of model, by its sizes where the host and where the device sets the pace.

    layout: of images and of the model's weights; None where inputs are numbers of tokens.
    """

    make: Callable[[Size], Model]
    host: Size
    device: Size
    layout: torch.memory_format | None = None

    def size(self, pace: str) -> Size:
        """The size for a pace, "host", "device" or "tiny"."""
        return {"host": self.host, "device": self.device, "tiny": TINY}[pace]

    def batch(self, size: Size) -> Tensor:
        """Inputs on the device: images, or numbers of tokens."""
        if self.layout is not None:
            image = torch.rand(size.batch, 3, size.length, size.length, device=DEVICE)
            return image.to(memory_format=self.layout)
        return torch.randint(CLASSES, (size.batch, size.length), device=DEVICE)


_SMALL, _LARGE = Size(256, 6, 8, 64), Size(1024, 6, 16, 512)

KINDS = {
    "decoder": Kind(_of_tokens(lambda size: transformer(size.width, causal=True)), _SMALL, _LARGE),
    "encoder": Kind(_of_tokens(lambda size: transformer(size.width, causal=False)), _SMALL, _LARGE),
    "gated": Kind(_of_tokens(lambda size: gated(size.width)), _SMALL, _LARGE),
    "patches": Kind(
        _patches, Size(256, 6, 16, 64), Size(768, 8, 96, 224), torch.channels_last
    ),
    "residual": Kind(
        _of_images(lambda size: convolutions(size.width, nn.BatchNorm2d)),
        Size(64, 6, 16, 32), Size(256, 5, 48, 64), torch.channels_last,
    ),
    "denoiser": Kind(
        _of_images(lambda size: convolutions(size.width, lambda width: nn.GroupNorm(8, width))),
        # PyTorch's norms over groups know contiguous images alone.
        Size(64, 5, 8, 32), Size(192, 5, 32, 64), torch.contiguous_format,
    ),
    "recurrent": Kind(
        _of_tokens(lambda size: Recurrent(size.width)),
        Size(256, 4, 16, 32), Size(1024, 4, 128, 192),
    ),
    "mixer": Kind(
        _of_tokens(lambda size: mixing(size.width, size.length)),
        _SMALL, _LARGE,
    ),
    "ranking": Kind(_ranking, Size(256, 10, 256, 16), Size(4096, 6, 8192, 16)),
}  # fmt: skip
