"""Functions as users bring them; what is imported where it is used need not be installed."""

import os
import threading
from collections import OrderedDict
from types import SimpleNamespace

import nvtx
import torch
from course_model import LanguageModel  # type: ignore[import-not-found]
from torch import Tensor, nn

from workflow_src.workload import Workload


def squares(make, *shape):
    """A function of a device: a model given random numbers, whose loss is its mean square."""

    def function(device):
        x = torch.randn(*shape, device=device)
        return Workload(make().to(device), (x,), lambda model, x: model(x).float().pow(2).mean())

    return function


def total(model, x):
    return model(x).sum()


BATCH = (torch.ones(3, 2),)


def linear(loss=total, batch=BATCH, optimizer=None):
    """A function of a device: a model of two features on a CPU, with this loss and batch."""
    return lambda device: Workload(nn.Linear(2, 2), batch, loss, optimizer)


def mlp(device, width=16, batch=4, precision="fp32"):
    model = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 3)).to(device)
    x, y = torch.randn(batch, 8, device=device), torch.randint(3, (batch,), device=device)
    return SimpleNamespace(
        model=model, batch=[x], loss=lambda model, x: nn.functional.cross_entropy(model(x), y)
    )


class Conv1D(nn.Module):
    """A layer as GPT-2's in transformers, which calls torch.addmm itself."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(8, 6)), nn.Parameter(torch.ones(6))

    def forward(self, x: Tensor) -> Tensor:
        return torch.addmm(self.bias, x, self.weight)


class Twins(nn.Module):
    """Two modules around one of the same name, as GPT-2's attn.c_proj and mlp.c_proj."""

    def __init__(self) -> None:
        super().__init__()
        self.attn, self.mlp = (nn.Sequential(OrderedDict(proj=Conv1D())) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.attn(x) + self.mlp(x)


twins = squares(Twins, 4, 8)


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.out = nn.LSTM(8, 16, 2), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.lstm(x)[0])


tagger = squares(Tagger, 5, 3, 8)


def evaluating_layer():
    """A layer that torch does as one operator in the forward pass, which has no gradients."""
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()


evaluating = squares(evaluating_layer, 2, 6, 16)


def adagrad(device):
    model = nn.Linear(2, 3).to(device)
    optimizer = torch.optim.Adagrad(model.parameters())
    x = torch.randn(4, 2, device=device)
    return Workload(model, (x,), total, optimizer)


def course(device, *, context, layers=2):
    ids = torch.randint(50, (2, context + 1), device=device)

    def loss(model, ids):
        return nn.functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten())

    inputs, targets = ids[:, :-1], ids[:, 1:]
    return Workload(LanguageModel(50, 16, layers).to(device), (inputs,), loss)


class TwoInputs(nn.Module):
    """A dictionary as output, dropout, control flow that depends on data, an unused parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.unused = nn.Linear(8, 4), nn.Linear(3, 4), nn.Linear(2, 2)
        self.dropout, self.loss = nn.Dropout(0.5), nn.MSELoss()

    def forward(self, x: Tensor, y: Tensor) -> dict[str, Tensor]:
        hidden = self.dropout(self.a(x) + self.b(y))
        for _ in range(1 + int(hidden.abs().sum().item()) % 3):
            hidden = hidden + self.b(y)
        return {"hidden": hidden if hidden.sum() > 0 else -hidden}


def two_inputs(device):
    model = TwoInputs().to(device)
    batch = (torch.randn(5, 8, device=device), torch.randn(5, 3, device=device))
    target = torch.zeros(5, 4, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return Workload(model, batch, lambda m, *b: m.loss(m(*b)["hidden"], target), optimizer)


class Noisy(nn.Module):
    """It prints, and another thread computes a part of it."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        print("forward of", tuple(x.shape))
        found: list[Tensor] = []
        thread = threading.Thread(target=lambda: found.append(torch.ones(4, 4) @ torch.ones(4, 4)))
        thread.start()
        thread.join()
        return self.a(x) + found[0].sum()


noisy = squares(Noisy, 3, 4)


class Annotated(nn.Module):
    """It has a range of its own, around one of its modules."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        with nvtx.annotate("mine"):
            x = self.a(x)
        return self.b(x)


def compiled_layers():
    return torch.compile(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), backend="aot_eager")


with_nvtx = squares(Annotated, 3, 4)
compiled = squares(compiled_layers, 3, 4)
frozen = squares(lambda: nn.Linear(4, 4).requires_grad_(False), 3, 4)
raising = squares(lambda: nn.Linear(2, 2), 3, 5)


def refusing(device):
    raise ValueError("no such model")


def nothing(device):
    """Forgets to return."""


def backward_inside_loss(model, x):
    mean = model(x).mean()
    mean.backward()
    return mean.detach()


def moving_loss(model, x):
    """Changes the folder, as hydra does."""
    os.chdir("/")
    return total(model, x)


not_finite = linear(batch=(torch.full((3, 2), float("nan")),))
dict_as_batch = linear(batch={"x": torch.randn(3, 2)})
backward_inside = linear(backward_inside_loss)
number_as_loss = linear(lambda model, x: 0.0)
loss_of_each = linear(lambda model, x: model(x))
loss_without_gradient = linear(lambda model, x: total(model, x).detach())
of_another_model = linear(optimizer=torch.optim.SGD(nn.Linear(2, 2).parameters()))


def too_large(device):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")


def leaving(device):
    raise SystemExit("usage: train.py --data FOLDER")


def moving(device):
    """Changes the folder while it is called and in each step."""
    os.chdir("/")
    return linear(moving_loss)(device)


def elsewhere(device):
    return Workload(nn.Linear(2, 2, device="meta"), (), lambda model: model.weight.sum())
