"""Faults that nobody who wrote findings had seen: another model, other code, other places."""

import time
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from benchmarks.planted.faults import Fault, attention_written_out, elementwise_chain
from benchmarks.planted.loop import DEVICE, HOST, Loop, Size, changed, clean_loop, marked

IMAGES = replace(HOST, batch=128, micro_batches=1)
CLASSES, PIXELS = 100, 96


class Network(nn.Module):
    """Convolutions with batch norm, and two linear layers."""

    def __init__(self, bias: bool = False) -> None:
        super().__init__()
        widths = (3, 64, 128, 256, 512)
        self.stages = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(before, after, 3, stride=2, padding=1, bias=bias),
                nn.BatchNorm2d(after),
                nn.SiLU(),
                nn.Conv2d(after, after, 3, padding=1, bias=bias),
                nn.BatchNorm2d(after),
                nn.SiLU(),
            )
            for before, after in pairwise(widths)
        )
        self.head = nn.Sequential(nn.Flatten(1), nn.LazyLinear(2048), nn.SiLU())
        self.classes = nn.Linear(2048, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """Logits (batch, classes) of images (batch, 3, height, width)."""
        hidden = images
        for number, stage in enumerate(self.stages):
            with marked(f"stage{number}"):
                hidden = stage(hidden)
        with marked("classifier"):
            logits: Tensor = self.classes(self.head(hidden))
        return logits


def _loss(model: nn.Module, images: Tensor, targets: Tensor) -> Tensor:
    with torch.autocast(DEVICE.type, torch.bfloat16):
        logits = model(images)
    return functional.cross_entropy(logits.float(), targets)


def network(size: Size, bias: bool = False, layout: torch.memory_format | None = None) -> Loop:
    """Training of the network, without a fault if it is channels last."""
    images = torch.randn(size.batch, 3, PIXELS, PIXELS, device=DEVICE)
    targets = torch.randint(CLASSES, (size.batch,), device=DEVICE)
    model = Network(bias).to(DEVICE)
    with torch.no_grad():
        model(images[:2])
    layout = layout or torch.channels_last
    model, images = model.to(memory_format=layout), images.to(memory_format=layout)  # type: ignore
    torch.backends.cudnn.benchmark = True
    return changed(clean_loop(size, model), batch=lambda: (images, targets), loss=_loss)


def channels_first(size: Size) -> Loop:
    """The layout that convolutions in bfloat16 have to change."""
    return network(size, layout=torch.contiguous_format)


def without_autocast(size: Size) -> Loop:
    """All products and convolutions in float32."""
    torch.backends.cudnn.allow_tf32 = False

    def plain(model: nn.Module, images: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(model(images), targets)

    return changed(network(size), loss=plain)


class Augmented(Dataset[Tensor]):
    """Images that the host makes one by one, slowly."""

    def __len__(self) -> int:
        """As many as are ever fetched."""
        return 100_000

    def __getitem__(self, number: int) -> Tensor:
        """An image (3, height, width)."""
        image = torch.randn(3, PIXELS, PIXELS)
        return (image.flip(-1) * 0.5 + 0.5).clamp(0, 1)


def loader_in_the_process(size: Size) -> Loop:
    """A DataLoader without workers."""
    loop = network(size)
    found = iter(DataLoader(Augmented(), batch_size=size.batch // 4, num_workers=0))
    images, targets = loop.batch()

    def fetched() -> tuple[Tensor, Tensor]:
        next(found)
        return images, targets

    return changed(loop, batch=fetched)


def accuracy_on_the_host(size: Size) -> Loop:
    """Logits of each step go to the host, where accuracy is counted."""

    def counted(model: nn.Module, images: Tensor, targets: Tensor) -> Tensor:
        with torch.autocast(DEVICE.type, torch.bfloat16):
            logits = model(images)
        with marked("metrics"):
            (logits.detach().float().cpu().argmax(-1) == targets.cpu()).float().mean().item()
            time.sleep(0.002)
        return functional.cross_entropy(logits.float(), targets)

    return changed(network(size), loss=counted)


def float64_loss(size: Size) -> Loop:
    """The last stage's activations in float64, and back."""
    loop = network(size)

    class Wide(nn.Module):
        def forward(self, hidden: Tensor) -> Tensor:
            return functional.silu(hidden.double()).to(hidden.dtype)

    loop.model.stages[0][2] = Wide()  # type: ignore[index, assignment]
    return loop


def stochastic_gradient_one_by_one(size: Size) -> Loop:
    """SGD with momentum that updates each parameter by itself."""
    loop = network(size)
    parameters = loop.model.parameters()
    return changed(loop, optimizer=torch.optim.SGD(parameters, 1e-3, momentum=0.9, foreach=False))


def waits_in_hooks(size: Size) -> Loop:
    """Backward hooks look at each gradient's largest value."""

    def look(parameter: Tensor) -> None:
        float(parameter.grad.abs().max())  # type: ignore[union-attr]

    loop = network(size)
    for parameter in loop.model.parameters():
        parameter.register_post_accumulate_grad_hook(look)
    return loop


OTHERS = [
    Fault("clean_network-device", IMAGES, network),
    *(
        Fault(f"{make.__name__}-device", IMAGES, make)
        for make in (
            channels_first, without_autocast, loader_in_the_process, accuracy_on_the_host,
            float64_loss, stochastic_gradient_one_by_one, waits_in_hooks,
        )
    ),
    Fault("attention_written_out-host", HOST, attention_written_out),
    Fault("elementwise_chain-host", HOST, elementwise_chain),
]  # fmt: skip
"""The first is without a fault."""
